"""What becomes free when a workload leaves: on the nodes where its pods are, as its agent reports."""

from dataclasses import replace

import pytest

from hub.domain.cycle.leaving import give_back, hosts
from hub.domain.fleet.clusters import BoundPods, pool
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.quota.holders import AdmittedWorkload
from shared.resources import Resources
from tests.domain.build import a_cluster


def a_gang(count: int = 3, completions: int | None = 3) -> AdmittedWorkload:
    """Pods of 2 cpu."""
    pods = ((Resources({"cpu": 2000}), NodeAsk(), count),)
    return AdmittedWorkload(
        "g", "ns", "g", "q", {}, cluster="c", epoch=4, completions=completions, pods=pods
    )


def freed(told: BoundPods | None, holder: AdmittedWorkload, epoch: int = 4) -> list[int]:
    """Cpu that become free on three nodes of 8 with 2, 4 and 6 cpu used."""
    rows = {f"n{at}": ([8000, 110], [free * 1000, 100]) for at, free in enumerate((6, 4, 2))}
    bound = {} if told is None else {("g", epoch): told}
    member = a_cluster(pool({}, ("cpu", "pods"), rows), bound=bound)
    room = Room.of(Layout([member]), {"c": member})
    before = room.free[room.layout.row["cpu"]].copy()
    give_back(room, {"c": member}, holder, 0)
    after = room.free[room.layout.row["cpu"]]
    return [int(n) // 1000 for n in after - before]


@pytest.mark.parametrize(
    ("told", "free"),
    [
        (BoundPods(3, 0, ((0, 1), (1, 2))), [2, 4, 0]),
        (BoundPods(3, 0, ((0, 1),)), [2, 0, 0]),  # two are on nodes that take nothing
        (BoundPods(1, 2, ((1, 1),)), [0, 2, 0]),  # two have succeeded
        (BoundPods(2, 0, ((0, 2),)), [4, 0, 2]),  # one is promised: where the layout has it
        (BoundPods(3, 0), [0, 0, 6]),  # an agent of before: on the fullest node
        (None, [0, 0, 6]),  # all are promised
    ],
)
def test_room_becomes_free_where_the_pods_are(told: BoundPods | None, free: list[int]) -> None:
    """Bound ones on their nodes; others by the model."""
    assert freed(told, a_gang()) == free


def test_a_report_of_another_epoch_says_nothing() -> None:
    """Its pods are those of an earlier attempt: all of this one are promised."""
    assert freed(BoundPods(3, 0, ((0, 3),)), a_gang(), epoch=3) == [0, 0, 6]


def test_a_work_queue_adds_no_pod_once_one_has_succeeded() -> None:
    """Without a number of completions."""
    assert freed(BoundPods(1, 1, ((0, 1),)), a_gang(completions=None)) == [2, 0, 0]


def test_pods_of_several_kinds_are_not_told_apart() -> None:
    """No report says which of them is where."""
    gang = a_gang()
    both = replace(gang, pods=gang.pods * 2)
    member = a_cluster(bound={("g", 4): BoundPods(3, 0, ((0, 3),))})
    assert hosts({"c": member}, gang) == (0,)
    assert hosts({"c": member}, both) == ()
    assert hosts({}, gang) == ()


def test_who_has_no_pod_left_gives_back_its_promise() -> None:
    """The agent names nodes, and not this one: its pods are gone, and its end is on its way."""
    rows = {f"n{at}": ([24000], [free * 1000]) for at, free in enumerate((0, 12, 24))}
    member = a_cluster(pool({}, ("cpu",), rows), bound={("other", 1): BoundPods(1, 0, ((0, 1),))})
    room = Room.of(Layout([member]), {"c": member})
    gone = replace(a_gang(1, 1), pods=((Resources({"cpu": 12000}), NodeAsk(), 1),), evicted=True)
    need = room.layout.need({"cpu": 12000}, NodeAsk())
    room.promise(need, 1, 0)
    give_back(room, {"c": member}, gone, 0)
    cpu = room.free[room.layout.row["cpu"]]
    assert sorted(int(n) // 1000 for n in cpu) == [0, 12, 24]


@pytest.mark.parametrize("node", [-1, 1, 2])
def test_no_pod_leaves_a_node_of_another_cluster(node: int) -> None:
    """A report that names a node outside its own cluster frees nothing."""
    told = {("g", 4): BoundPods(1, 0, ((node, 1),))}
    members = {
        name: a_cluster(pool({}, ("cpu",), {"n": ([8000], [0])}), name=name, bound=told)
        for name in ("b", "c")
    }
    room = Room.of(Layout(list(members.values())), members)
    holder = a_gang(count=1, completions=1)
    give_back(room, members, holder, room.layout.position["c"])
    assert room.free[room.layout.row["cpu"]].tolist() == [0, 0]

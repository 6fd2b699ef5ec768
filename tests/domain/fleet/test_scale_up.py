"""Pools that may grow: room that is not there yet counts where the room that is does not suffice."""

from dataclasses import replace
from typing import Any

from hypothesis import given, strategies as st

from hub.domain.fleet.clusters import Cluster, GrowingPool, with_report
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.fleet.promises import Members, Promise
from hub.domain.placement.picking.picker import BELOW_REAL_ROOM
from hub.domain.placement.scoring.backlog import FULL
from hub.domain.plan import Plan, Score
from hub.domain.queueing.lanes import Lane
from hub.domain.selectors import Taint
from shared.resources import Resources
from tests.domain.build import (
    a_cluster,
    a_demand,
    a_flavor,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot,
    amounts,
    decide,
    growing,
    refusal,
    where,
)

MAY_GROW = NodeAsk(growing=True)


def elastic(*pools: GrowingPool, name: str = "c", there: int = 0, cpu: int = 4) -> Cluster:
    """A cluster with `there` empty nodes, whose pools may grow."""
    real = (a_pool(nodes=there, cpu=cpu),) if there else ()
    return a_cluster(*real, name=name, growing=pools)


def asking(cpu: int | str = 4, count: int = 1, **given: Any) -> Lane:
    demand = a_demand(a_pod_set(count=count, requests={"cpu": cpu}), **given)
    return a_lane(demand, "w")


def chosen(plan: Plan) -> Score:
    (placement,) = plan.placements
    return placement.scores[0]


def test_room_that_may_come_counts_where_no_room_is() -> None:
    """A cluster without nodes whose pool may add two holds two pods; the decision says what is needed."""
    plan = decide(a_snapshot([asking(count=2)], [elastic(growing())]))
    assert where(plan) == {"w": "c"}
    assert chosen(plan).new_nodes == (("x", 2),)


def test_real_room_goes_first() -> None:
    """However much an elastic pool could add, the cluster that holds it now is chosen."""
    clusters = [elastic(growing(50), name="z"), elastic(name="a", there=1)]
    plan = decide(a_snapshot([asking()], clusters))
    assert where(plan) == {"w": "a"}
    assert chosen(plan).new_nodes == ()


def test_real_room_of_a_later_flavor_goes_before_growth_of_the_first() -> None:
    """Real room is looked for under every flavor before any pool is asked to grow."""
    clusters = [
        elastic(growing(labels={"kind": "a"}), name="grows"),
        a_cluster(a_pool(cpu=4, labels={"kind": "b"}), name="has"),
    ]
    flavors = [a_flavor("first", kind="a"), a_flavor("second", kind="b")]
    queue = a_queue(flavors=("first", "second"), cpu=100)
    keys = {"kind": 0}
    plan = decide(a_snapshot([asking()], clusters, queue, flavors=flavors, key_revisions=keys))
    assert where(plan) == {"w": "has"}


def test_a_gang_may_stand_on_nodes_there_are_and_nodes_to_come() -> None:
    """Three pods: one on the node there is, two on new ones."""
    plan = decide(a_snapshot([asking(count=3)], [elastic(growing(), there=1)]))
    assert chosen(plan).new_nodes == (("x", 2),)


def test_the_score_is_below_that_of_real_room() -> None:
    """What must be added first scores below the same cluster with room."""
    grows = decide(a_snapshot([asking()], [elastic(growing())]))
    has = decide(a_snapshot([asking()], [elastic(there=1)]))
    assert chosen(grows).score <= FULL - BELOW_REAL_ROOM < chosen(has).score


def test_new_nodes_are_filled_one_after_the_other() -> None:
    """Four pods of 2 cpu need two new nodes of 4 cpu, not four."""
    plan = decide(a_snapshot([asking(2, count=4)], [elastic(growing(9))]))
    assert chosen(plan).new_nodes == (("x", 2),)


def test_a_pool_adds_no_more_than_it_may() -> None:
    """Three nodes asked for, two may come: it waits, and is told how many of its pods would fit."""
    plan = decide(a_snapshot([asking(count=3)], [elastic(growing())]))
    assert not plan.placements
    assert "room for 2 of 3 pods, nodes that its pools may add included" in refusal(plan).message


def test_labels_and_taints_of_new_nodes_count() -> None:
    """A pool with a taint nobody tolerates, or without the labels asked for, does not help."""
    tainted = elastic(growing(taints=[Taint("gpu", "yes", "NoSchedule")]))
    assert not decide(a_snapshot([asking()], [tainted])).placements
    pod_set = a_pod_set(requests={"cpu": 4}, node_selector=(("disk", "ssd"),))
    lane = a_lane(a_demand(pod_set), "w")
    assert not decide(a_snapshot([lane], [elastic(growing())])).placements
    labelled = elastic(growing(labels={"disk": "ssd"}))
    assert decide(a_snapshot([lane], [labelled])).placements


def test_a_resource_that_only_new_nodes_have() -> None:
    """A GPU pool scaled to nothing: no node of the fleet has a GPU yet."""
    pod_set = a_pod_set(requests={"cpu": 1, "gpu": 4})
    clusters = [elastic(growing(1, "gpus", cpu=8, gpu=8), name="g"), elastic(name="c", there=3)]
    queue = a_queue(cpu=100, gpu=100)
    plan = decide(a_snapshot([a_lane(a_demand(pod_set), "w")], clusters, queue))
    assert chosen(plan).new_nodes == (("gpus", 1),)
    assert where(plan) == {"w": "g"}


def test_what_no_node_to_come_could_hold_is_said() -> None:
    """A pod larger than any node, there or to come."""
    plan = decide(a_snapshot([asking(9)], [elastic(growing(), there=1)]))
    assert "no node of any member is large enough" in refusal(plan).message


def test_equal_jobs_of_a_burst_share_new_nodes() -> None:
    """Five jobs of one 2-cpu pod, room for four on two nodes to come: four are placed."""
    lane = a_lane(a_demand(a_pod_set(requests={"cpu": 2})), *"abcde")
    plan = decide(a_snapshot([lane], [elastic(growing())]))
    assert sorted(where(plan)) == ["a", "b", "c", "d"]


def members(cluster: Cluster, *pods: tuple[int, NodeAsk, int]) -> Members:
    """A fleet of one cluster, with works of (cpu, nodes, pods) promised to it."""
    fleet = Members()
    fleet.put(cluster)
    for number, (cpu, ask, count) in enumerate(pods):
        what = ((Resources(amounts({"cpu": cpu})), ask, count),)
        fleet.promise(Promise(f"w{number}", 1, cluster.name, what, count, 0))
    fleet.refresh(lambda best, left: None)
    return fleet


def held(fleet: Members, cpu: int, ask: NodeAsk = MAY_GROW) -> int:
    need = fleet.room.layout.need(amounts({"cpu": cpu}), ask)
    return fleet.room.count_held(need, 0)


def test_promises_count_against_future_nodes_once() -> None:
    """A promise of two nodes to come leaves one of three; when they came, they are kept for it."""
    fleet = members(elastic(growing(3)), (4, MAY_GROW, 2))
    assert held(fleet, 4) == 1
    came = elastic(growing(1), there=2)
    fleet.put(came)
    fleet.refresh(lambda best, left: None)
    assert held(fleet, 4) == 1
    assert held(fleet, 4, NodeAsk()) == 0


def test_nodes_there_are_serve_those_first_that_can_wait_for_no_others() -> None:
    """A promise of real room is counted on the node there is, one that may grow beside it."""
    fleet = members(elastic(growing(2), there=1), (4, MAY_GROW, 1), (4, NodeAsk(), 1))
    assert (held(fleet, 4, NodeAsk()), held(fleet, 4)) == (0, 1)


def test_who_waits_for_growth_is_woken_when_a_promise_ends() -> None:
    """A released promise of nodes to come is room that grew."""
    fleet = members(elastic(growing(2)), (4, MAY_GROW, 2))
    fleet.release("w0")
    told: list[tuple[int, int]] = []
    fleet.refresh(lambda best, left: told.append((best["cpu"], left["cpu"])))
    assert told == [(4000, 8000)]


REPORT = {
    "pools_revision": 3,
    "pools": [
        {
            "labels": {"group": "x"}, "resources": ["cpu"], "unusable": 1,
            "nodes": [{"name": "n", "allocatable": [4000], "free": [0]}],
        },
        {"labels": {}, "resources": ["cpu"],
         "nodes": [{"name": "m", "allocatable": [4000], "free": [0]}]},
    ],
}  # fmt: skip
DECLARED = [{"name": "x", "maxNodes": 5, "labels": {"group": "x"}, "allocatable": {"cpu": "4"}}]


def test_nodes_that_are_there_are_not_counted_again() -> None:
    """maxNodes less all nodes with the pool's labels, those that are not ready included."""
    (pool,) = with_report(Cluster("c"), REPORT, DECLARED, {"group": 3}).growing
    assert (pool.nodes, pool.shape) == (3, {"cpu": 4000})


def test_growth_counts_once_reports_group_nodes_by_the_labels_of_the_pool() -> None:
    """Before, nobody can say how many of its nodes are there: none is counted with."""
    assert with_report(Cluster("c"), REPORT, DECLARED, {"group": 4}).growing == ()
    assert with_report(Cluster("c"), REPORT, DECLARED, {}).growing == ()


def test_what_nodes_say_of_their_pool_counts_unless_it_is_declared() -> None:
    """An agent reports pools whose nodes carry labels of their own; a declaration goes before."""
    told = {
        "name": "x", "max_nodes": 9, "nodes": 1, "labels": {}, "taints": [],
        "resources": ["cpu"], "shape": [2000],
    }  # fmt: skip
    report = {**REPORT, "growing": [told]}
    assert with_report(Cluster("c"), report).growing[0].nodes == 8
    assert with_report(Cluster("c"), report, DECLARED, {"group": 1}).growing[0].nodes == 3


sizes = st.integers(0, 3)


@given(
    there=sizes,
    coming=sizes,
    wanted=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.booleans()), max_size=8),
)
def test_neither_nodes_nor_nodes_to_come_are_overdrawn(
    there: int, coming: int, wanted: list[tuple[int, int, bool]]
) -> None:
    """Whatever is taken, all pods of it or none; plain needs never touch what is not there."""
    cluster = replace(elastic(growing(coming), there=there))
    room = Room.of(Layout([cluster]), {"c": cluster})
    assert room.growth is not None or not cluster.growing or not coming
    for cpu, count, grows in wanted:
        need = room.layout.need(amounts({"cpu": cpu}), NodeAsk(growing=grows))
        before = None if room.growth is None else room.growth.free.copy()
        fits = room.count_held(need, 0) >= count
        assert room.take(need, count, 0) == fits
        assert (room.free >= 0).all()
        if room.growth is not None and before is not None:
            assert (room.growth.free >= 0).all()
            assert grows or (room.growth.free == before).all()

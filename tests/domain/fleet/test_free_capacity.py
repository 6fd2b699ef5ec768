"""Room on nodes: what fits, where it is taken, and what fragmentation leaves."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hub.domain.fleet.clusters import Cluster, with_report
from hub.domain.fleet.free_capacity import Layout, Need, NodeAsk, Room
from hub.domain.selectors import Taint
from shared.resources import Toleration
from tests.domain.build import a_cluster, a_pool, amounts


def _room(*pools: object) -> Room:
    cluster = a_cluster(*pools)  # type: ignore[arg-type]
    return Room.of(Layout([cluster]), {"c": cluster})


def test_free_room_in_all_is_not_room_on_a_node() -> None:
    """Four nodes with 2 free cpu each hold no pod of 3."""
    room = _room(a_pool(nodes=4, cpu=2))
    assert not room.fits(room.layout.need(amounts({"cpu": 3}), NodeAsk()), 1, 0)
    assert room.fits(room.layout.need(amounts({"cpu": 2}), NodeAsk()), 4, 0)


def test_pods_are_put_on_the_roomiest_node_first() -> None:
    """As a member's scheduler spreads them: eight small pods leave no node whole."""
    room = _room(a_pool(nodes=2, cpu=8))
    assert room.take(room.layout.need(amounts({"cpu": 1}), NodeAsk()), 8, 0)
    assert room.free[room.layout.row["cpu"]].tolist() == [4000, 4000]


def test_the_pods_a_node_may_run_are_a_resource() -> None:
    """A node that reports `pods` holds no more of them, however small they are."""
    room = _room(a_pool(cpu=8, pods=2))
    need = room.layout.need(amounts({"cpu": "1m"}), NodeAsk())
    assert room.take(need, 2, 0)
    assert not room.take(need, 1, 0)


def test_taints_of_nodes_must_be_tolerated() -> None:
    """A pool with a taint is for pods that tolerate it."""
    room = _room(a_pool(cpu=8, taints=[Taint("gpu", "yes", "NoSchedule")]))
    assert not room.fits(room.layout.need(amounts({"cpu": 1}), NodeAsk()), 1, 0)
    tolerant = NodeAsk(tolerations=(Toleration(key="gpu", value="yes"),))
    assert room.fits(room.layout.need(amounts({"cpu": 1}), tolerant), 1, 0)


def test_a_resource_nobody_reports_fits_nowhere() -> None:
    """Asking for a device that no node has leaves every cluster closed."""
    room = _room(a_pool(cpu=8))
    need = room.layout.need(amounts({"gpu": 1}), NodeAsk())
    assert need.missing == ("nvidia.com/gpu",)
    assert not room.open_clusters(need, 1).any()


def test_overcommitted_nodes_have_no_room_and_lend_none() -> None:
    """A node with negative free room takes nothing and does not eat the others' room."""
    room = _room(a_pool(cpu=2, used={"cpu": 5}), a_pool(cpu=4))
    assert room.pods_held(room.layout.need(amounts({"cpu": 1}), NodeAsk())).tolist() == [4]


def test_promised_pods_that_find_no_node_still_count() -> None:
    """What was promised lowers what is left in the cluster, room on a node or not."""
    room = _room(a_pool(nodes=2, cpu=2))
    assert room.promise(room.layout.need(amounts({"cpu": 2}), NodeAsk()), 3, 0) == 2
    assert room.left[room.layout.row["cpu"], 0] == -2000


def test_clusters_without_nodes_hold_nothing() -> None:
    """An empty cluster between others does not shift their rooms."""
    fleet = {
        "a": a_cluster(a_pool(cpu=1), name="a"),
        "b": a_cluster(name="b"),
        "c": a_cluster(a_pool(nodes=2, cpu=1), name="c"),
    }
    room = Room.of(Layout(list(fleet.values())), fleet)
    held = room.pods_held(room.layout.need(amounts({"cpu": 1}), NodeAsk())).tolist()
    assert dict(zip(room.layout.names, held, strict=True)) == {"a": 1, "b": 0, "c": 2}


def test_amounts_beyond_63_bits_count_as_the_largest() -> None:
    """An absurd report is bounded, not refused, and its sums do not wrap around."""
    huge = 2**70
    node = {"name": "n", "allocatable": [huge], "free": [huge]}
    capacity = {
        "pools_revision": 0,
        "pools": [{"labels": {}, "resources": ["memory"], "nodes": [node, {**node, "name": "m"}]}],
    }
    cluster = with_report(Cluster("c"), capacity)
    assert cluster.free["memory"] == 2**63 - 1


takes = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2), st.integers(1, 6)), max_size=12)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=6), takes)
def test_no_node_is_overdrawn(
    nodes: list[tuple[int, int]], wanted: list[tuple[int, int, int]]
) -> None:
    """Whatever is taken, all pods of it or none, every node keeps at least nothing."""
    room = _room(*(a_pool(cpu=cpu, gpu=gpu) for cpu, gpu in nodes))
    for cpu, gpu, count in wanted:
        need = room.layout.need(amounts({"cpu": cpu, "gpu": gpu}), NodeAsk())
        before, held = room.free.copy(), int(room.pods_held(need)[0])
        took = room.take(need, count, 0)
        assert took == (held >= count)
        assert (room.free >= 0).all()
        spent = (before - room.free)[room.layout.row["cpu"]].sum()
        assert spent == (cpu * 1000 * count if took else 0)


def _cpu(room: Room, cpu: int | str, ask: NodeAsk = NodeAsk()) -> Need:  # noqa: B008 - frozen
    return room.layout.need(amounts({"cpu": cpu}), ask)


def _left_on_nodes(room: Room) -> list[int]:
    found: list[int] = room.free[room.layout.row["cpu"]].tolist()
    return found


@pytest.mark.parametrize(
    ("sizes", "count", "left"),
    [
        ([6, 4, 2], 3, [4, 3, 2]),
        ([6, 4, 2], 4, [3, 3, 2]),
        ([4, 4, 4], 2, [4, 3, 3]),
        ([4, 4, 4], 1, [3, 4, 4]),
        ([1, 1], 2, [0, 0]),
    ],
)
def test_each_pod_goes_to_the_node_with_most_room_left(
    sizes: list[int], count: int, left: list[int]
) -> None:
    """Of many at once the last level is filled from the front, but for what it does not need."""
    room = _room(*(a_pool(cpu=cpu) for cpu in sizes))
    assert room.take(_cpu(room, 1), count, 0)
    found = _left_on_nodes(room)
    assert sorted(found) == sorted(1000 * cpu for cpu in left)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=5), st.integers(1, 12))
def test_many_pods_at_once_lie_as_they_would_one_by_one(sizes: list[int], count: int) -> None:
    """As many nodes of each level of fullness are left, however they are taken."""
    at_once = _room(*(a_pool(cpu=cpu) for cpu in sizes))
    one_by_one = at_once.copy()
    if at_once.take(_cpu(at_once, 1), count, 0):
        assert all(one_by_one.take(_cpu(one_by_one, 1), 1, 0) for _ in range(count))
        assert sorted(_left_on_nodes(at_once)) == sorted(_left_on_nodes(one_by_one))


def test_pods_that_leave_are_taken_off_the_fullest_node() -> None:
    """Reports do not name nodes: so the emptier ones stay as empty; never more than is used."""
    room = _room(a_pool(cpu=8, used={"cpu": 2}), a_pool(cpu=8, used={"cpu": 6}))
    room.give_back(_cpu(room, 2), 4, 0)
    assert _left_on_nodes(room) == [8000, 8000]
    assert room.left[room.layout.row["cpu"], 0] == 16_000
    again = _room(a_pool(cpu=8, used={"cpu": 2}), a_pool(cpu=8, used={"cpu": 6}))
    again.give_back(_cpu(again, 2), 1, 0)
    assert _left_on_nodes(again) == [6000, 4000]
    again.give_back(_cpu(again, 3), 9, 0)
    assert _left_on_nodes(again) == [6000, 7000]


def test_pods_leave_only_nodes_that_they_may_use() -> None:
    """However full others are."""
    room = _room(a_pool(cpu=8, used={"cpu": 8}), a_pool(cpu=8, used={"cpu": 2}, labels={"a": "b"}))
    room.give_back(_cpu(room, 1, NodeAsk((("a", "b"),))), 2, 0)
    assert _left_on_nodes(room) == [0, 8000]


def test_how_much_one_pod_lacks_on_each_node() -> None:
    """As shares of what it asks for, summed over resources; what is there in plenty makes up for nothing."""
    room = _room(a_pool(cpu=8, memory=2), a_pool(cpu=1, memory=8), a_pool(cpu=4, memory=4))
    asked = room.layout.need(amounts({"cpu": 4, "memory": 4}), NodeAsk())
    assert room.lack(asked, 0, 3).tolist() == [0.5, 0.75, 0.0]
    assert room.least_lack(asked).tolist() == [0.0]
    elsewhere = room.layout.need(amounts({"cpu": 4}), NodeAsk((("a", "b"),)))
    assert np.isinf(room.least_lack(elsewhere)).all()


@pytest.mark.parametrize(
    ("cpu", "ask", "enough"),
    [(8, NodeAsk(), True), (9, NodeAsk(), False), (1, NodeAsk((("a", "b"),)), False)],
)
def test_whether_an_empty_node_would_be_large_enough(
    cpu: int, ask: NodeAsk, *, enough: bool
) -> None:
    """What is used meanwhile does not matter; which nodes may be used does."""
    room = _room(a_pool(cpu=8, used={"cpu": 8}))
    assert room.layout.large_enough(_cpu(room, cpu, ask)).tolist() == [enough]


def test_what_a_large_pod_may_not_use_a_small_one_may() -> None:
    """Asking for one pod says nothing of the next, though both may use the same nodes."""
    room = _room(a_pool(cpu=2, labels={"a": "b"}), a_pool(cpu=8))
    ask = NodeAsk((("a", "b"),))
    for _ in range(2):
        assert room.layout.large_enough(_cpu(room, 4, ask)).tolist() == [False]
        assert room.layout.large_enough(_cpu(room, 1, ask)).tolist() == [True]

"""Nodes that pools may still add, as arrays: what is taken of them, given back, undone and kept."""

import numpy as np

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, Need, NodeAsk, Room
from tests.domain.build import a_cluster, a_pool, amounts, growing

MAY_GROW = NodeAsk(growing=True)
SMALL, LARGE = growing(2, "small", cpu=2), growing(1, "large", cpu=8)


def a_room(*clusters: Cluster) -> Room:
    return Room.of(Layout(clusters), {c.name: c for c in clusters})


def elastic(there: int = 0, name: str = "c") -> Cluster:
    """So many nodes of four cpu; two of two cpu and one of eight may come."""
    pools = [a_pool(nodes=there, cpu=4)] if there else []
    return a_cluster(*pools, name=name, growing=(SMALL, LARGE))


def need(room: Room, cpu: int, ask: NodeAsk = MAY_GROW) -> Need:
    return room.layout.need(amounts({"cpu": cpu}), ask)


def free(room: Room) -> list[int]:
    """Cpu of all nodes to come."""
    assert room.growth is not None
    found: list[int] = room.growth.free[room.layout.row["cpu"]].tolist()
    return found


def left(room: Room) -> int:
    return int(room.left[room.layout.row["cpu"], 0])


def test_nodes_of_all_pools_are_counted() -> None:
    """What each may hold, in whole pods; those there are come on top."""
    room = a_room(elastic(1))
    assert [room.count_held(need(room, cpu), 0) for cpu in (1, 2, 3, 4, 8, 9)] == [
        16,
        8,
        3,
        3,
        1,
        0,
    ]
    assert room.pods_held(need(room, 3)).tolist() == [3]
    assert room.count_held(need(room, 3, NodeAsk()), 0) == 1
    assert room.open_clusters(need(room, 8), 1).tolist() == [True]


def test_the_pools_that_must_add_nodes_are_told_with_how_many() -> None:
    """Pods fill one node after the other, in the order of the pools."""
    room = a_room(elastic())
    assert room.growth is not None
    assert room.take(need(room, 2), 3, 0)
    assert room.growth.opened == {"small": 2, "large": 1}
    assert free(room) == [0, 0, 6000]


def test_promises_of_nodes_to_come_are_given_back() -> None:
    """As many as are promised there, first node first; the rest to the nodes there are."""
    room = a_room(elastic(1))
    asked = need(room, 2)
    assert room.take(asked, 5, 0)
    assert (free(room), left(room)) == ([0, 0, 6000], -6000)
    room.give_back(asked, 2, 0)
    assert (free(room), left(room)) == ([2000, 2000, 6000], -2000)
    room.give_back(asked, 2, 0)
    assert (free(room), left(room)) == ([2000, 2000, 8000], 2000)
    assert room.count_held(need(room, 2, NodeAsk()), 0) == 1


def test_only_such_nodes_are_given_back_as_the_pods_may_use() -> None:
    """Of pools with other labels nothing is; nothing beyond what is promised is."""
    labelled = growing(2, "gpu", labels={"gpu": "yes"}, cpu=4)
    room = a_room(a_cluster(growing=(labelled, LARGE)))
    there = room.layout.need(amounts({"cpu": 4}), NodeAsk((("gpu", "yes"),), growing=True))
    assert room.take(there, 2, 0)
    assert room.growth is not None
    assert room.growth.give_back(need(room, 4), 1, 0) == 1
    assert free(room) == [4000, 0, 8000]
    assert room.growth.give_back(there, 9, 0) == 1
    assert room.growth.give_back(there, 1, 0) == 0
    assert free(room) == [4000, 4000, 8000]


def test_what_does_not_fit_as_a_whole_leaves_nodes_to_come_as_they_were() -> None:
    """All pods of all kinds or none, nodes opened for them included."""
    room = a_room(elastic(1))
    before = (room.free.copy(), free(room), left(room))
    assert not room.take_all([(need(room, 4), 3), (need(room, 2), 99)], 0)
    assert room.growth is not None
    assert room.growth.opened == {}
    assert (free(room), left(room)) == before[1:]
    assert (room.free == before[0]).all()
    assert not room.take(need(room, 4), 4, 0)
    assert free(room) == before[1]


def test_a_trial_on_nodes_to_come_is_undone() -> None:
    """Whatever was taken, kept or given back meanwhile."""
    room = a_room(elastic(1))
    with room.trial(0):
        assert room.take(need(room, 4), 3, 0)
    assert (free(room), left(room), room.touched) == ([2000, 2000, 8000], 4000, [])
    assert room.growth is not None
    assert room.growth.opened == {}


def test_a_copy_is_taken_from_alone() -> None:
    """Of nodes to come too; a cluster can be set back to what it is in another room."""
    room = a_room(elastic())
    other = room.copy()
    assert other.take(need(other, 2), 2, 0)
    assert free(room) == [2000, 2000, 8000]
    other.set_back(0, room)
    assert (free(other), left(other)) == ([2000, 2000, 8000], 0)


def test_a_report_sets_nodes_to_come_back_too() -> None:
    """Of that cluster alone."""
    one, other = elastic(name="a"), elastic(name="b")
    room = a_room(one, other)
    for at in (0, 1):
        assert room.take(need(room, 2), 2, at)
    room.reset(one)
    assert free(room) == [0, 0, 8000, 2000, 2000, 8000]


def test_amounts_are_kept_on_nodes_there_are_and_to_come() -> None:
    """As they lie beside each other; what is left in the cluster falls by all of them."""
    room = a_room(elastic(1))
    wide = room.nodes_of(0)
    assert wide[room.layout.row["cpu"]].tolist() == [4000, 2000, 2000, 8000]
    kept = np.zeros_like(wide)
    kept[room.layout.row["cpu"]] = [1000, 2000, 0, 3000]
    room.keep(kept, 0)
    assert room.nodes_of(0)[room.layout.row["cpu"]].tolist() == [3000, 0, 2000, 5000]
    assert (left(room), room.touched) == (-2000, [0])


def test_what_no_node_has_fits_nowhere() -> None:
    """Neither counted nor taken, however it is asked."""
    room = a_room(elastic(1))
    asked = room.layout.need(amounts({"gpu": 1}), MAY_GROW)
    assert (room.count_held(asked, 0), room.take(asked, 1, 0)) == (0, False)
    assert not room.layout.large_enough(asked).any()
    assert np.isinf(room.least_lack(asked)).all()
    assert room.promise(asked, 1, 0) == 0


def test_a_fleet_whose_pools_have_no_more_to_add_has_no_sites() -> None:
    """Needs that may use new nodes are then as others are."""
    room = a_room(a_cluster(a_pool(cpu=4)))
    assert room.growth is None
    assert need(room, 4).sites is None
    none = a_room(a_cluster(a_pool(cpu=4), growing=(growing(0),)))
    assert none.growth is not None
    assert none.growth.held(need(none, 1)).tolist() == [0]

"""Clusters that can still hold a demand, and who comes second."""

from collections.abc import Sequence

import numpy as np

from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.placement.fitting import Fitting, orders_of
from hub.domain.placement.scoring.ties import Keys, Tied
from tests.domain.build import a_cluster, a_pool, amounts


def a_room(**cpus: int) -> Room:
    """One node per cluster; clusters stand in descending order of name."""
    clusters = [a_cluster(a_pool(cpu=cpu), name=name) for name, cpu in cpus.items()]
    return Room.of(Layout(clusters), {c.name: c for c in clusters})


def fitting(room: Room, *cpus: int, closed: Sequence[int] = ()) -> Fitting:
    """One pod set of one pod for each amount of cpu."""
    needs = [(room.layout.need(amounts({"cpu": cpu}), NodeAsk()), 1) for cpu in cpus]
    allowed = np.ones(len(room.layout.names), dtype=np.bool_)
    allowed[list(closed)] = False
    return Fitting(room, needs, allowed)


def the_first(competing: Keys, at: int, uid: str, tied: Tied) -> int:
    return at


def the_last(competing: Keys, at: int, uid: str, tied: Tied) -> int:
    """Of equals the one that stands last."""
    return int(np.flatnonzero(competing == competing[at])[-1])


def test_the_highest_score_that_can_hold_it_takes_it() -> None:
    """A cluster that is full or not allowed does not compete, however high it stands."""
    room = a_room(d=8, c=1, b=8, a=8)
    found = fitting(room, 4, closed=[0])
    assert found.place(np.array([9, 8, 1, 2]), the_first, "u") == 3
    assert found.count == 2
    assert room.left[room.layout.row["cpu"]].tolist() == [8000, 1000, 8000, 4000]


def test_nobody_takes_what_nobody_can_hold() -> None:
    """None, and nothing is taken; who was found closed stays closed."""
    room = a_room(b=6, a=6)
    found = fitting(room, 4, 4)
    assert found.any()
    assert found.place(np.array([1, 2]), the_first, "u") is None
    assert not found.any()
    assert room.left[room.layout.row["cpu"]].tolist() == [6000, 6000]


def test_whether_some_cluster_surely_holds_it_is_tried_out() -> None:
    """Each pod set alone fits both clusters, together they fit neither: that shows only on trial."""
    room = a_room(b=6, a=6)
    assert not fitting(room, 4, 4).surely()
    assert fitting(room, 4, 2).surely()
    assert room.left[room.layout.row["cpu"]].tolist() == [6000, 6000]


def test_the_runner_up_is_the_best_of_the_others() -> None:
    """Where ties were settled for another one the first of the best is second; else the next best."""
    scores = np.array([5, 7, 7, 6])
    tied = fitting(a_room(d=8, c=8, b=8, a=8), 1)
    assert tied.place(scores, the_last, "u") == 2
    assert tied.runner_up(2) == 1
    plain = fitting(a_room(d=8, c=8, b=8, a=8), 1)
    assert plain.place(np.array([5, 8, 7, 6]), the_first, "u") == 1
    assert plain.runner_up(1) == 2
    assert plain.competing.tolist() == [5, 8, 7, 6]


def test_a_closed_cluster_is_never_the_runner_up() -> None:
    """Only who competed is second, however low it stands."""
    found = fitting(a_room(c=8, b=1, a=8), 4)
    assert found.place(np.array([9, 8, -5]), the_first, "u") == 0
    assert found.runner_up(0) == 2


def test_pods_that_are_hardest_to_place_go_first() -> None:
    """The larger pods first, then the order given; one pod set, or two in that order, have one order."""
    room = a_room(a=8)
    small, large = ((room.layout.need(amounts({"cpu": cpu}), NodeAsk()), 1) for cpu in (1, 4))
    assert orders_of((small,)) == ((small,),)
    assert orders_of((large, small)) == ((large, small),)
    assert orders_of((small, large)) == ((large, small), (small, large))


def test_in_a_fleet_of_many_nodes_clusters_close_as_they_are_found_full() -> None:
    """Beyond twenty thousand nodes those that others have filled stay open until they would be picked."""
    big = a_cluster(a_pool(nodes=20_001, cpu=1), name="z")
    small = [a_cluster(a_pool(cpu=4), name=name) for name in "cba"]
    room = Room.of(Layout([big, *small]), {c.name: c for c in (big, *small)})
    found, other = fitting(room, 4), fitting(room, 4)
    for at in (1, 2):
        assert other.place(1 * (np.arange(4) == at), the_first, "o") == at
    assert (found.count, other.count) == (3, 3)
    assert found.place(np.array([9, 8, 1, 2]), the_first, "u") == 3
    assert (found.count, found.open.tolist()) == (2, [False, False, True, True])

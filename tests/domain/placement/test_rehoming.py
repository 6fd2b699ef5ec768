"""Another cluster for a reservation whose pods now ask for more, on room that is counted once."""

from dataclasses import replace

import pytest

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.fleet.promises import Promise
from hub.domain.placement.registry import FILTERS
from hub.domain.placement.rehoming import Rehoming
from shared.resources import Resources
from tests.domain.build import NOW, a_cluster, a_demand, a_pod_set, a_pool

ONE_CPU = Resources({"cpu": 1000})
SSD = NodeAsk(labels=(("disk", "ssd"),))
HERE = a_cluster(a_pool(cpu=4), name="here")


def ssd(used: int) -> Cluster:
    """Another cluster, with one node of four cpu and the disk that is asked for."""
    pool = a_pool(cpu=4, used={"cpu": used}, labels={"disk": "ssd"})
    return a_cluster(pool, name="there")


@pytest.mark.parametrize(
    ("fleet", "home", "left"),
    [
        ([HERE], "here", {"here": 0}),
        ([HERE, ssd(4)], "", {"here": 0, "there": 0}),
        ([HERE, ssd(0)], "there", {"here": 4, "there": 0}),
    ],
    ids=["such nodes are on their way", "such nodes are full", "such nodes are free"],
)
def test_a_reservation_keeps_its_room_until_it_has_another(
    fleet: list[Cluster], home: str, left: dict[str, int]
) -> None:
    """Whoever stays or waits is not in the way of the next for less than it holds."""
    clusters = {cluster.name: cluster for cluster in fleet}
    layout = Layout(fleet)
    room = Room.of(layout, clusters)
    promise = Promise("job", 1, "here", ((ONE_CPU, NodeAsk(), 4),), 4, 0)
    one = layout.need(ONE_CPU, NodeAsk())
    room.promise(one, 4, layout.position["here"])
    demand = a_demand(a_pod_set(count=4))
    assert Rehoming(clusters, room, (), NOW).home(promise, demand, (SSD,)) == home
    assert {name: room.count_held(one, at) for name, at in layout.position.items()} == left


def test_reports_must_tell_nodes_apart_by_all_that_is_asked() -> None:
    """One pod set asks by a label that no report is grouped by yet: it waits, and keeps its room."""
    clusters = {HERE.name: HERE}
    layout = Layout([HERE])
    room = Room.of(layout, clusters)
    pods = (ONE_CPU, NodeAsk(), 1)
    promise = Promise("job", 1, "here", (pods, pods), 2, 0)
    one = layout.need(ONE_CPU, NodeAsk())
    room.promise(one, 2, 0)
    demand = a_demand(a_pod_set(name="a"), a_pod_set(name="b"))
    late, none = SSD._replace(revision=9), NodeAsk(labels=(("disk", "none"),))
    for asks in ((none, late), (late, none)):
        assert Rehoming(clusters, room, (), NOW).home(promise, demand, asks) == ""
        assert room.count_held(one, 0) == 2


@pytest.mark.parametrize(("cordoned", "home"), [(True, "there"), (False, "")])
def test_a_report_of_who_may_not_take_it_is_not_waited_for(cordoned: bool, home: str) -> None:
    """A cluster that does not tell nodes apart yet is in the way only while it may take the pods."""
    there = replace(ssd(0), pools_revision=9)
    here = replace(HERE, pools_revision=9)
    late = a_cluster(a_pool(cpu=4), name="late", pools_revision=8, cordoned=cordoned)
    fleet = [here, there, late]
    clusters = {cluster.name: cluster for cluster in fleet}
    room = Room.of(Layout(fleet), clusters)
    promise = Promise("job", 1, "here", ((ONE_CPU, NodeAsk(), 1),), 1, 0)
    room.promise(room.layout.need(ONE_CPU, NodeAsk()), 1, room.layout.position["here"])
    asks = (SSD._replace(revision=9),)
    assert Rehoming(clusters, room, FILTERS, NOW).home(promise, a_demand(), asks) == home

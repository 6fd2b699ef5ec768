"""The fleet below quota in a live cycle: room kept for whoever others make room for."""

from dataclasses import replace

import pytest

from hub.domain.cycle.capacity_view import LiveFleet
from hub.domain.cycle.snapshot import Nomination
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.registry import FILTERS
from hub.domain.plan import Assignment, PodSetAssignment
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, Pods
from shared.resources import Resources
from tests.domain.build import NOW, a_cluster, a_demand, a_pod_set, a_pool, amounts


def test_a_gang_is_tried_in_every_order_that_may_serve() -> None:
    """The larger pod goes first where the smaller would take the only node for it."""
    cluster = a_cluster(a_pool(cpu=6), replace(a_pool(cpu=4), nodes=("small",)))
    fleet = {"c": cluster}
    room = Room.of(Layout([cluster]), fleet)
    live = LiveFleet(room.copy(), room, ClusterSearch(fleet, room, FILTERS, NOW), {})
    demand = a_demand(
        a_pod_set(name="smaller", requests={"cpu": 4}),
        a_pod_set(name="larger", requests={"cpu": 6}),
    )
    who = PendingWorkload("w", "ns", "w", "q", demand.pod_sets, demand=demand)
    given = tuple(PodSetAssignment(p.name, 1, (), (), (), ()) for p in demand.pod_sets)
    assignment = Assignment(given, {}, (NodeAsk(), NodeAsk()))
    assert live.claim(who, assignment, ()) == "c"


@pytest.mark.parametrize(("there", "cluster"), [(2, "c"), (4, None)])
def test_another_claim_takes_first_what_is_left_for_it(there: int, cluster: str | None) -> None:
    """Beside a claim to 2 cpu whose victim still stands, 6 are placed where 6 are free, not where 4 are."""
    member = a_cluster(a_pool(cpu=8, used={"cpu": there}))
    room = Room.of(Layout([member]), {"c": member})
    leaving = AdmittedWorkload("h", "ns", "h", "q", {}, cluster="c", pods=_pods(there))
    claims = {"other": Nomination("c", _pods(2), (leaving,)), "w": Nomination("c", _pods(6))}
    search = ClusterSearch({"c": member}, room, FILTERS, NOW)
    live = LiveFleet(room.copy(), room, search, claims)
    demand = a_demand(a_pod_set(requests={"cpu": 6}))
    who = PendingWorkload("w", "ns", "w", "q", demand.pod_sets, demand=demand)
    given = tuple(PodSetAssignment(p.name, 1, (), (), (), ()) for p in demand.pod_sets)
    assert live.place(who, Assignment(given, {}, (NodeAsk(),))) == cluster


def _pods(cpu: int) -> Pods:
    return ((Resources(amounts({"cpu": cpu})), NodeAsk(), 1),)

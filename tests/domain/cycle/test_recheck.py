"""Decisions of a cycle against a later picture: what holds is kept, what does not says why."""

from dataclasses import replace
from typing import Any

import pytest

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.cycle import schedule
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.recheck import ROOM_LOOKS, Moved, Recheck
from hub.domain.cycle.snapshot import Nomination, Snapshot
from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, Room
from hub.domain.plan import Lapse, Plan, Reason
from hub.domain.quota.declared import ClusterQueue, FlavorResource
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.selectors import Taint
from hub.domain.workloads.demand import Demand
from tests.domain.build import (
    NOW,
    a_cluster,
    a_demand,
    a_flavor,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot,
)

TAINT = Taint("gpu", "yes", "NoSchedule")
EVERYTHING = Moved(None)
ON_C = Moved(clusters=frozenset({"c"}))


def of_queues(given: Snapshot, *queues: ClusterQueue) -> Snapshot:
    """The same picture with other queues, charged as it is."""
    used = {queue.name: given.ledger.usage(queue.name) for queue in queues}
    ledger = Ledger(queues, used)
    return replace(given, queues=[(queue, ()) for queue in queues], ledger=ledger)


def of_clusters(given: Snapshot, *clusters: Cluster) -> Snapshot:
    fleet = {cluster.name: cluster for cluster in clusters}
    return replace(given, clusters=fleet, room=Room.of(Layout(clusters), fleet))


def lapsed(
    plan: Plan, present: Snapshot, moved: Moved, demand: Demand | Lapse, *absent: str
) -> dict[str, Reason]:
    """Reasons by uid, where everybody asks for the same; `absent` wait no longer."""
    uids = {*(p.uid for p in plan.placements), *(n.uid for n in plan.nominated)} - {*absent}
    found = Recheck(plan, present, moved, dict.fromkeys(uids, demand), Profile(), NOW).lapsed()
    assert all(lapse.message for lapse in found.values())
    return {uid: lapse.reason for uid, lapse in found.items()}


def planned(demand: Demand, *uids: str, **more: Any) -> tuple[Snapshot, Plan]:
    """Workloads of one demand, in a queue of 8 CPU, on a cluster of 8."""
    queue = more.get("queue") or a_queue(cpu=8)
    snapshot = a_snapshot([a_lane(demand, *uids)], [a_cluster(a_pool(cpu=8))], queue)
    plan = schedule(snapshot, NOW, Profile())
    assert [p.uid for p in plan.placements] == list(uids)
    return snapshot, plan


def test_what_rests_on_nothing_that_moved_holds() -> None:
    """Even the picture that is given is not looked at then."""
    demand = a_demand()
    snapshot, plan = planned(demand, "a", "b")
    present = of_clusters(of_queues(snapshot, a_queue(cpu=0)), a_cluster(name="other"))
    assert lapsed(plan, present, Moved(), demand) == {}


def test_of_a_smaller_quota_the_first_of_the_plan_get_what_is_left() -> None:
    """Each decision that holds is charged before the check of the next."""
    demand = a_demand()
    snapshot, plan = planned(demand, "a", "b", "c")
    present = of_queues(snapshot, a_queue(cpu=2))
    assert lapsed(plan, present, EVERYTHING, demand) == {"c": Reason.WAITING_FOR_QUOTA}
    assert lapsed(plan, present, EVERYTHING, demand, "a") == {}


def test_only_trees_that_moved_are_looked_at() -> None:
    """By the name of their root: without a cohort, the queue's own."""
    demand = a_demand()
    snapshot, plan = planned(demand, "a")
    present = of_queues(snapshot, a_queue(cpu=0))
    assert lapsed(plan, present, Moved(frozenset({"other"})), demand) == {}
    found = lapsed(plan, present, Moved(frozenset({"q"})), demand)
    assert found == {"a": Reason.EXCEEDS_MAX_QUOTA}


def test_a_workload_that_can_not_be_considered_says_so() -> None:
    """Its route decides, whatever else holds."""
    snapshot, plan = planned(a_demand(), "a")
    stopped = Lapse(Reason.QUEUE_STOPPED, "stopped")
    assert lapsed(plan, snapshot, Moved(), stopped) == {"a": Reason.QUEUE_STOPPED}


@pytest.mark.parametrize(
    "demand", [a_demand(queue="r"), a_demand(placement="p")], ids=["queue", "placement"]
)
def test_another_queue_or_placement_is_another_decision(demand: Demand) -> None:
    """Its charge, and who placed the work, would be wrong."""
    snapshot, plan = planned(a_demand(), "a")
    assert lapsed(plan, snapshot, Moved(), demand) == {"a": Reason.PENDING_EVALUATION}


@pytest.mark.parametrize(
    ("flavor", "reason"),
    [
        (None, Reason.NO_MATCHING_FLAVOR),
        (replace(a_flavor(), taints=(TAINT,)), Reason.NO_MATCHING_FLAVOR),
        (a_flavor(pool="x"), Reason.PENDING_EVALUATION),
    ],
    ids=["gone", "taint", "label"],
)
def test_a_flavor_that_moved_is_looked_at_again(flavor: Any, reason: Reason) -> None:
    """It is gone, is not for these pods, or adds something else to them."""
    demand = a_demand()
    snapshot, plan = planned(demand, "a", "b")
    flavors = {} if flavor is None else {"any": flavor}
    present = replace(snapshot, catalog=FlavorCatalog(flavors, {"pool": 0}))
    found = lapsed(plan, present, Moved(flavors=frozenset({"any"})), demand)
    assert found == {"a": reason, "b": reason}
    assert lapsed(plan, present, Moved(flavors=frozenset({"other"})), demand) == {}


@pytest.mark.parametrize(
    ("clusters", "reason"),
    [
        ([], Reason.NO_CLUSTER_MATCHES),
        ([a_cluster(a_pool(cpu=8), cordoned=True)], Reason.NO_CLUSTER_MATCHES),
        ([a_cluster(a_pool(cpu=8), taints=(TAINT,))], Reason.NO_CLUSTER_MATCHES),
        ([a_cluster(a_pool(cpu=0))], Reason.NO_CLUSTER_FITS),
    ],
    ids=["left", "cordoned", "taint", "full"],
)
def test_a_cluster_that_moved_is_looked_at_again(clusters: list[Cluster], reason: Reason) -> None:
    """The check asks its filters and its room."""
    demand = a_demand()
    snapshot, plan = planned(demand, "a")
    assert lapsed(plan, of_clusters(snapshot, *clusters), ON_C, demand) == {"a": reason}


def test_room_that_is_left_goes_to_the_first_of_the_plan() -> None:
    """Each decision takes its room before the check of the next."""
    demand = a_demand()
    snapshot, plan = planned(demand, "a", "b", "c")
    present = of_clusters(snapshot, a_cluster(a_pool(cpu=2)))
    assert lapsed(plan, present, ON_C, demand) == {"c": Reason.NO_CLUSTER_FITS}


def test_a_cluster_with_at_least_the_room_of_before_is_not_laid_out_again() -> None:
    """What the cycle packed fits there still: the commit is short though all members reported."""
    demand = a_demand()
    snapshot, plan = planned(demand, "a", "b", "c")
    present = of_clusters(snapshot, a_cluster(a_pool(cpu=2)))
    moved = replace(ON_C, roomy=frozenset({"c"}))
    assert lapsed(plan, present, moved, demand) == {}


def test_a_commit_looks_at_the_room_of_a_bounded_number_of_placements() -> None:
    """Where clusters have less room than the cycle saw: the others wait for the next cycle."""
    demand, many = a_demand(), ROOM_LOOKS + 2
    lane = a_lane(demand, *(f"j{number:05}" for number in range(many)))
    pools = [a_pool(nodes=many, cpu=1)]
    snapshot = a_snapshot([lane], [a_cluster(*pools)], a_queue(cpu=many))
    plan = schedule(snapshot, NOW, Profile())
    assert len(plan.placements) == many
    found = lapsed(plan, snapshot, ON_C, demand)
    late = [placement.uid for placement in plan.placements[ROOM_LOOKS:]]
    assert found == dict.fromkeys(late, Reason.PENDING_EVALUATION)


def test_a_claim_to_room_is_kept_from_others() -> None:
    """A preemptor keeps the room that its victims leave."""
    demand = a_demand()
    snapshot, plan = planned(demand, "a")
    (placement,) = plan.placements
    claim = Nomination("c", ((a_pod_set().requests, placement.assignment.asks[0], 1),))
    present = of_clusters(snapshot, a_cluster(a_pool(cpu=1)))
    present = replace(present, nominations={"other": claim})
    assert lapsed(plan, present, ON_C, demand) == {"a": Reason.NO_CLUSTER_FITS}


def preempting(quota: int = 1) -> tuple[Snapshot, Plan, Demand]:
    """A workload of priority 1 that preempts one of priority 0, which holds all of a queue's quota."""
    of = FlavorResource("any", "cpu")
    high, queue = a_demand(priority=1), a_queue(cpu=quota)
    cluster = a_cluster(a_pool(cpu=8))
    used = {"q": {of: quota * 1000}}
    snapshot = a_snapshot([a_lane(high, "high")], [cluster], queue, used=used)
    low = AdmittedWorkload("low", "ns", "low", "q", {of: quota * 1000}, cluster="c")
    snapshot = replace(
        snapshot,
        holders={"q": {"low": low}},
        policies={"q": QueuePolicy(within="LowerPriority")},
    )
    plan = schedule(snapshot, NOW, Profile())
    assert [(e.uid, e.by) for e in plan.evictions] == [("low", "high")]
    return snapshot, plan, high


def test_a_preemptor_that_would_preempt_the_same_holds() -> None:
    """Though its tree and its cluster have moved."""
    snapshot, plan, high = preempting()
    assert lapsed(plan, snapshot, Moved(None, clusters=frozenset({"c"})), high) == {}


def test_nobody_goes_where_it_fits_by_now() -> None:
    """The quota grew: it is placed by the next cycle."""
    snapshot, plan, high = preempting()
    present = of_queues(snapshot, a_queue(cpu=2))
    assert lapsed(plan, present, EVERYTHING, high) == {"high": Reason.PENDING_EVALUATION}


def test_nobody_goes_where_the_policy_forbids_it_by_now() -> None:
    """withinClusterQueue is Never in the newer picture."""
    snapshot, plan, high = preempting()
    present = replace(snapshot, policies={})
    assert lapsed(plan, present, EVERYTHING, high) == {"high": Reason.PENDING_EVALUATION}


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        (a_cluster(a_pool(cpu=8), cordoned=True), Reason.NO_CLUSTER_MATCHES),
        (a_cluster(a_pool(cpu=0)), Reason.PENDING_EVALUATION),
    ],
    ids=["cordoned", "full"],
)
def test_nobody_goes_for_a_cluster_that_would_not_take_it(
    cluster: Cluster, reason: Reason
) -> None:
    """It is closed, or has no room for it even then."""
    snapshot, plan, high = preempting()
    found = lapsed(plan, of_clusters(snapshot, cluster), ON_C, high)
    assert found == {"high": reason}


@pytest.mark.parametrize("priority", [1, None], ids=["raised", "ended"])
def test_a_victim_that_is_none_any_more_stays(priority: int | None) -> None:
    """The search runs again if holders of quota of the tree changed, though no limit did."""
    snapshot, plan, high = preempting()
    low = snapshot.holders["q"]["low"]
    now = {} if priority is None else {"low": replace(low, priority=priority)}
    present = replace(snapshot, holders={"q": now})
    moved = Moved(holding=frozenset({"q"}))
    assert lapsed(plan, present, moved, high) == {"high": Reason.PENDING_EVALUATION}
    assert lapsed(plan, snapshot, moved, high) == {}
    assert lapsed(plan, present, Moved(holding=frozenset({"other"})), high) == {}


def test_nobody_goes_for_a_workload_that_leads_elsewhere_or_nowhere() -> None:
    """Its LocalQueue leads to another ClusterQueue, is stopped, or the workload waits no longer."""
    snapshot, plan, high = preempting()
    elsewhere = lapsed(plan, snapshot, Moved(), a_demand(queue="r", priority=1))
    assert elsewhere == {"high": Reason.PENDING_EVALUATION}
    stopped = Lapse(Reason.QUEUE_STOPPED, "stopped")
    assert lapsed(plan, snapshot, Moved(), stopped) == {"high": Reason.QUEUE_STOPPED}
    assert lapsed(plan, snapshot, Moved(), high, "high") == {"high": Reason.PENDING_EVALUATION}


def test_nobody_goes_for_a_preemptor_that_asks_for_something_else() -> None:
    """Its priority was lowered: the search for victims runs again, though nothing else moved."""
    snapshot, plan, _ = preempting()
    found = lapsed(plan, snapshot, Moved(), a_demand(priority=0))
    assert found == {"high": Reason.PENDING_EVALUATION}


@pytest.mark.parametrize(("quota", "left"), [(1, {"a": Reason.WAITING_FOR_QUOTA}), (2, {})])
def test_who_waits_for_victims_since_an_earlier_cycle_is_charged_as_if_they_were_gone(
    quota: int, left: dict[str, Reason]
) -> None:
    """As in the cycle: a placement gets what is left beside it, and the victims count no more."""
    snapshot, first, high = preempting()
    low = a_demand()
    _, placed = planned(low, "a")
    (claim,) = first.nominated
    plan = replace(placed, nominated=(claim._replace(new=False),))
    present = of_queues(snapshot, a_queue(cpu=quota))
    standing = {"a": low, "high": high}
    found = Recheck(plan, present, EVERYTHING, standing, Profile(), NOW).lapsed()
    assert {uid: lapse.reason for uid, lapse in found.items()} == left

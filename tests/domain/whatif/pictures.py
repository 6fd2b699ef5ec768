"""Pictures on which a waiting workload is tried: who holds what, and one who waits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.instants import to_micros
from hub.domain.preemption.search import PreemptionLimits
from hub.domain.queueing.lanes import Lane
from hub.domain.quota.declared import ClusterQueue, FlavorResource
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.whatif.remedies import remedies
from hub.domain.whatif.remedy import Remedy
from hub.domain.whatif.trial import Trial
from hub.domain.workloads.demand import Demand
from shared.resources import Resources
from tests.domain.build import NOW, a_cluster, a_pool, a_queue, a_snapshot

SECOND = 1_000_000
PRESENT = to_micros(NOW)
CPU = FlavorResource("any", "cpu")
LOWER = QueuePolicy(within="LowerPriority")


def a_holder(uid: str, cpu: int = 1, queue: str = "q", **given: Any) -> AdmittedWorkload:
    """One pod of so many cpu; on no cluster unless one is named."""
    flavor = given.pop("flavor", "any")
    pods = ((Resources({"cpu": cpu * 1000}), NodeAsk(), 1),) if given.get("cluster") else ()
    named = {"pods": pods, "usage": {FlavorResource(flavor, "cpu"): cpu * 1000}, **given}
    return AdmittedWorkload(uid=uid, namespace="ns", name=uid, queue=queue, **named)


def a_picture(
    holders: Sequence[AdmittedWorkload] = (),
    *queues: ClusterQueue,
    clusters: Sequence[Cluster] = (),
    lanes: Sequence[Lane] = (),
    policies: Mapping[str, QueuePolicy] | None = None,
    **given: Any,
) -> Snapshot:
    """What holders have is charged to their queues and promised on their clusters.

    Without clusters there is one that has room for everything.
    """
    fleet = clusters or [a_cluster(a_pool(cpu=1000))]
    snapshot = a_snapshot(lanes, fleet, *(queues or (a_queue(cpu=4),)))
    held: dict[str, dict[str, AdmittedWorkload]] = {}
    for holder in holders:
        held.setdefault(holder.queue, {})[holder.uid] = holder
        snapshot.ledger.charge(holder.queue, holder.usage)
        at = snapshot.room.layout.position.get(holder.cluster)
        for requests, ask, count in holder.pods if at is not None else ():
            snapshot.room.promise(snapshot.room.layout.need(requests, ask), count, at or 0)
    return replace(snapshot, holders=held, policies=policies or {}, **given)


def who_waits(demand: Demand, uid: str = "w", queued_at: int = 0) -> PendingWorkload:
    """The first of its class."""
    return PendingWorkload(
        uid, "ns", uid, demand.queue, demand.pod_sets, demand.priority, queued_at, demand=demand
    )


def a_trial(picture: Snapshot, demand: Demand, *, left: int = 100, **rules: Any) -> Trial:
    """`rules` are those of the profile; `limits` of preemption count from NOW."""
    limits = replace(rules.pop("limits", PreemptionLimits()), now=PRESENT)
    profile = Profile(rules=Rules(limits=limits, **rules))
    return Trial(picture, who_waits(demand), NOW, profile, left)


def found(
    picture: Snapshot, demand: Demand, ends: Mapping[str, int] | None = None, **rules: Any
) -> dict[str, Remedy]:
    """What would let it in, by kind; of several of one kind the first."""
    told: dict[str, Remedy] = {}
    for remedy in remedies(a_trial(picture, demand, **rules), ends or {}):
        told.setdefault(str(remedy.kind), remedy)
    return told


def uids(remedy: Remedy) -> list[str]:
    """Who would end or be preempted."""
    return [holder.uid for holder in remedy.holders]

"""A workload at the size under trial: partial admission tries fewer pods than requested."""

from collections.abc import Sequence
from dataclasses import replace

from hub.domain.plan import Assignment
from hub.domain.quota.holders import PendingWorkload
from hub.domain.workloads.demand import Demand
from shared.resources import PodSet


def sized(pod_sets: Sequence[PodSet], assignment: Assignment) -> tuple[PodSet, ...]:
    """The pod sets with as many pods as were assigned."""
    pairs = zip(pod_sets, assignment.pod_sets, strict=True)
    return tuple(p if p.count == a.count else replace(p, count=a.count) for p, a in pairs)


def demand_at(who: PendingWorkload, pod_sets: Sequence[PodSet]) -> Demand:
    """The class of equals of a workload, at the size under trial."""
    demand = who.demand
    assert demand is not None
    counts = [p.count for p in pod_sets]
    if counts == [p.count for p in demand.pod_sets]:
        return demand
    shape = f"{demand.shape}/{','.join(map(str, counts))}"
    return replace(demand, shape=shape, pod_sets=tuple(pod_sets))

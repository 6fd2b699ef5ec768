"""Preemption for room: quota fits and no cluster holds the workload, so that lower priorities go.

Optional, and beside Kueue's rules, which know quota alone. Candidates: workloads of strictly lower
priority in the own ClusterQueue where withinClusterQueue is not Never, and in other queues of its cohort
where reclaimWithinCohort is not Never, whether they borrow or not; never those of protected queues, nor
before their minimum runtime. All victims stand on one cluster, the one where they cost least: lowest
priority, then fewest, then least work lost (`fewest`). Strictly lower priority means that no victim ever
evicts its preemptor in return.
"""

import bisect
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.preemption.fewest import Cost, Sought, cheapest
from hub.domain.preemption.search import Cause, PreemptionLimits, Victim
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.queue_policy import NEVER
from shared.resources import PodSet

# In a large fleet only this number of suitable clusters is compared, those with the cheapest victims.
_COMPARED: Final = 32
_TRIED: Final = 256
_FILLED_BACK: Final = 4  # of those, the cheapest are searched exhaustively

_NOBODY: Cost = (-(1 << 62), 0, 0)


class Capacity(Protocol):
    """The questions of this search to the fleet below quota."""

    def has_claim(self, who: PendingWorkload) -> bool:
        """Is room kept for it already? Then no further victim is needed: the freed room is on its way."""
        ...

    def may_use(self, who: PendingWorkload) -> Sequence[str]: ...

    def stands_on(self, holder: AdmittedWorkload) -> str: ...

    def fits_on(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        asks: tuple[NodeAsk, ...],
        cluster: str,
        gone: Sequence[AdmittedWorkload],
    ) -> bool: ...

    def hosts(self, holder: AdmittedWorkload) -> Sequence[int]:
        """Numbers of the nodes of its cluster with its pods; () if unknown."""
        ...


def candidates(
    quota_state: QuotaState, who: PendingWorkload, limits: PreemptionLimits, capacity: Capacity
) -> dict[str, list[AdmittedWorkload]]:
    """Workloads that leave or are candidates, by cluster, of the clusters that the workload may use."""
    found: dict[str, list[AdmittedWorkload]] = {name: [] for name in capacity.may_use(who)}
    waits = capacity.has_claim(who)
    in_reach = frozenset(() if waits else _queues_in_reach(quota_state, who, limits))
    for holder in quota_state.all_holders():
        if holder.evicted or (holder.queue in in_reach and _may_go(holder, who, limits)):
            cluster = capacity.stands_on(holder)
            if cluster in found:
                found[cluster].append(holder)
    return {name: those for name, those in found.items() if those}


def _queues_in_reach(
    quota_state: QuotaState, who: PendingWorkload, limits: PreemptionLimits
) -> Iterable[str]:
    policy, node = quota_state.policies[who.queue], quota_state.node(who.queue)
    if policy.within != NEVER and who.queue not in limits.protected:
        yield who.queue
    if policy.reclaim != NEVER and node.parent is not None:
        spared = limits.protected | quota_state.inactive
        for other in node.root().queues():
            if other is not node and other.name not in spared:
                yield other.name


def _may_go(holder: AdmittedWorkload, who: PendingWorkload, limits: PreemptionLimits) -> bool:
    if holder.priority >= who.priority:
        return False
    began, least = holder.started_at, limits.minimum_runtime
    return not (least and began is not None and limits.now - began < least)


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A workload with the flavors that it would get."""

    who: PendingWorkload
    pod_sets: Sequence[PodSet]
    asks: tuple[NodeAsk, ...]


def find(
    wanted: Wanted,
    by_cluster: Mapping[str, Sequence[AdmittedWorkload]],
    limits: PreemptionLimits,
    capacity: Capacity,
) -> list[Victim]:
    """The victims on the cluster where they cost least; [] where no cluster would hold it."""
    order = sorted((_at_least(those, limits), name) for name, those in by_cluster.items())
    enough: list[tuple[Cost, str, list[AdmittedWorkload]]] = []
    for least, cluster in order[:_TRIED]:
        if len(enough) == _COMPARED or (enough and least > enough[0][0]):
            break  # further candidates there cost more
        gone = _until_it_fits(wanted, cluster, by_cluster[cluster], capacity)
        if gone is not None:
            bisect.insort(enough, (_cost(gone, limits), cluster, gone), key=_by_cost)
    found = (
        (_cost(gone, limits), cluster, gone)
        for _, cluster, more in enough
        if (gone := _cheapest(wanted, cluster, (more, by_cluster[cluster]), limits, capacity))
    )
    few = itertools.islice(found, _FILLED_BACK)
    _, _, chosen = min(few, key=_by_cost, default=(_NOBODY, "", []))
    return [Victim(holder, Cause.FOR_ROOM) for holder in chosen]


def _cheapest(
    wanted: Wanted,
    cluster: str,
    enough: tuple[Sequence[AdmittedWorkload], Sequence[AdmittedWorkload]],
    limits: PreemptionLimits,
    capacity: Capacity,
) -> list[AdmittedWorkload]:
    """Of some that are enough, and of all that may go, the cheapest; [] where they are more than may go."""
    more, those = enough
    needed = _needed(wanted, cluster, more, capacity)
    sought = Sought(
        fits=lambda gone: _fits(wanted, cluster, gone, capacity),
        cost=lambda gone: _cost(gone, limits),
        hosts=capacity.hosts,
        alone=sum(pod_set.count for pod_set in wanted.pod_sets) == 1,
        most=None if limits.budget is None else max(0, limits.budget - len(limits.told)),
    )
    gone = cheapest(needed, those, sought)
    if gone is None or not _within_budget(gone, limits):
        return []
    return _needed(wanted, cluster, gone, capacity)


def _by_cost(found: tuple[Cost, str, list[AdmittedWorkload]]) -> tuple[Cost, str]:
    cost, cluster, _ = found
    return cost, cluster


def _within_budget(gone: Sequence[AdmittedWorkload], limits: PreemptionLimits) -> bool:
    if limits.budget is None:
        return True
    return len(limits.told.union(h.uid for h in gone if not h.evicted)) <= limits.budget


def _at_least(those: Sequence[AdmittedWorkload], limits: PreemptionLimits) -> Cost:
    """No choice among them costs less."""
    if any(h.evicted for h in those):
        return _NOBODY
    priority, lost = min((h.priority, limits.now - (h.started_at or h.reserved_at)) for h in those)
    return priority, 1, max(0, lost)


def _cost(victims: Sequence[AdmittedWorkload], limits: PreemptionLimits) -> Cost:
    told = [h for h in victims if not h.evicted]
    if not told:
        return _NOBODY
    lost = sum(max(0, limits.now - (h.started_at or h.reserved_at)) for h in told)
    return max(h.priority for h in told), len(told), lost


def _until_it_fits(
    wanted: Wanted, cluster: str, those: Sequence[AdmittedWorkload], capacity: Capacity
) -> list[AdmittedWorkload] | None:
    """Those who leave already, then the cheapest, as many as it takes; None where all are too few."""
    if not _fits(wanted, cluster, those, capacity):
        return None
    asked = _total(wanted.pod_sets)
    ordered = sorted(those, key=lambda h: (not h.evicted, h.priority, -_size(h, asked), _lost(h)))
    fewest = bisect.bisect_left(
        range(1, len(ordered)),
        True,
        key=lambda count: _fits(wanted, cluster, ordered[:count], capacity),
    )
    return ordered[: fewest + 1]


def _needed(
    wanted: Wanted, cluster: str, gone: Sequence[AdmittedWorkload], capacity: Capacity
) -> list[AdmittedWorkload]:
    """Fill back: drop victims that are not needed, the costliest first, until all are needed.

    Each check packs the pods again, so a victim that is needed beside some may not be needed beside fewer.
    """
    needed, before = list(gone), 0
    while len(needed) != before:
        before = len(needed)
        for holder in reversed(needed[:]):
            without = [h for h in needed if h is not holder]
            if without and _fits(wanted, cluster, without, capacity):
                needed = without
    return needed


def _fits(
    wanted: Wanted, cluster: str, gone: Sequence[AdmittedWorkload], capacity: Capacity
) -> bool:
    return capacity.fits_on(wanted.who, wanted.pod_sets, wanted.asks, cluster, gone)


def _total(pod_sets: Iterable[PodSet]) -> dict[str, int]:
    total: dict[str, int] = {}
    for pod_set in pod_sets:
        for resource, amount in pod_set.requests.items():
            total[resource] = total.get(resource, 0) + amount * pod_set.count
    return total


def _size(holder: AdmittedWorkload, asked: Mapping[str, int]) -> float:
    """The share of the request that it covers: with larger ones fewer victims suffice."""
    held: dict[str, int] = {}
    for of, amount in holder.usage.items():
        held[of.resource] = held.get(of.resource, 0) + amount
    return sum(min(1.0, held.get(r, 0) / amount) for r, amount in asked.items() if amount)


def _lost(holder: AdmittedWorkload) -> tuple[int, tuple[str, str, str]]:
    """The most recent first: least work is lost."""
    return -(holder.started_at or holder.reserved_at), holder.identity

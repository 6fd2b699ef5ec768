"""A workload's case tried on one picture, and on pictures that differ in one thing.

What decides is the cycle's own search (`nomination`), nothing else: an answer to "what if" is what the
engine says of the other picture. Cost is bounded: `may_ask` says whether another question is allowed.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from hub.domain.admission.flavor_assigner import Mode, Search
from hub.domain.admission.nomination import Nominator, Nominee
from hub.domain.cycle import leaving
from hub.domain.cycle.capacity_view import LiveFleet
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Room
from hub.domain.fleet.node_layout import Layout
from hub.domain.placement.cluster_search import ClusterSearch, NoChoice, Survey
from hub.domain.plan import Reason
from hub.domain.preemption.search import PreemptionLimits
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.quota.tree import QuotaTree
from hub.domain.workloads.demand import Constraints
from shared.resources import PodSet


@dataclass(frozen=True, slots=True, eq=False)
class Variation:
    """The difference of a snapshot. Absent: as it is."""

    gone: Sequence[AdmittedWorkload] = ()
    priority: int | None = None
    queue: ClusterQueue | None = None  # its own, with other limits or flavors
    policy: QueuePolicy | None = None
    limits: PreemptionLimits | None = None
    clusters: Mapping[str, Cluster] | None = None  # some of them, otherwise
    constraints: Constraints | None = None
    pod_sets: tuple[PodSet, ...] | None = None


AS_IT_IS = Variation()
CLUSTERS: Final = 50


class Stand(NamedTuple):
    """A cluster, and why it can not hold the workload now; "" where it can."""

    cluster: str
    message: str


@dataclass(slots=True, eq=False)
class Trial:
    """One waiting workload on a private snapshot. `left`: questions still allowed."""

    snapshot: Snapshot
    who: PendingWorkload
    now: dt.datetime
    profile: Profile
    left: int = 100
    may_go_on: Callable[[], bool] = lambda: True
    none: NoChoice | None = None  # what the fleet, as it is, said when it was last asked
    quota_state: QuotaState = field(init=False)
    _fleet: LiveFleet = field(init=False)

    def __post_init__(self) -> None:
        snapshot = self.snapshot
        self.quota_state = QuotaState(
            snapshot.ledger.copy().tree,
            {queue.name: queue for queue, _ in snapshot.queues},
            {q.name: snapshot.policies.get(q.name, QueuePolicy()) for q, _ in snapshot.queues},
            ranks=snapshot.ranks.values if snapshot.ranks else None,
            held=snapshot.holders,
            inactive=snapshot.inactive,
        )
        self._fleet = self._fleet_with(AS_IT_IS)

    @property
    def may_ask(self) -> bool:
        """Is another question allowed?"""
        return self.left > 0 and self.may_go_on()

    @property
    def queue(self) -> ClusterQueue:
        return self.quota_state.queues[self.who.queue]

    @property
    def policy(self) -> QueuePolicy:
        return self.quota_state.policies[self.who.queue]

    def ask(self, change: Variation = AS_IT_IS) -> Nominee:
        """The possible assignments of the workload on a snapshot with this difference."""
        self.left -= 1
        who = self._changed(change)
        fleet = self._fleet
        if change.clusters is not None or any(h.cluster for h in change.gone):
            fleet = self._fleet_with(change)
        rules = self.profile.rules
        if change.limits is not None:
            rules = replace(rules, limits=change.limits)
        with self._other_rules(change), self.quota_state.without(change.gone):
            nominator = Nominator(self.quota_state, self.snapshot.catalog, rules, fleet)
            nominator.preempted = self.snapshot.preempted
            found = nominator.nominate(who)
        same_pods = change.constraints is None and change.pod_sets is None
        if change is AS_IT_IS or (fleet is self._fleet and same_pods and found.search.asks):
            self.none = fleet.refusals.get(who.uid)
        return self._held_together(who, found, change)

    def _held_together(self, who: PendingWorkload, found: Nominee, change: Variation) -> Nominee:
        """A search looks at each pod set alone; only placing shows that no cluster holds all of them."""
        assigned = found.search.assignment
        several = len(who.pod_sets) > 1 and not who.quota_only
        if found.search.mode is not Mode.FIT or assigned is None or not several:
            return found
        if self._fleet_with(change).place(who, assigned) is not None:
            return found
        message = "no cluster can hold all pod sets together"
        reason = Reason.NO_CLUSTER_FITS
        return Nominee(Search(Mode.NO_FIT, reason=reason, message=message, asks=assigned.asks))

    def fleet(self, found: Nominee) -> list[Stand]:
        """Of each cluster whether it could hold the workload now, quota aside; at most `CLUSTERS`."""
        demand, search = self.who.demand, found.search
        if demand is None or demand.quota_only:
            return []
        asks = search.asks or (search.assignment.asks if search.assignment else None)
        if asks is None:
            asks = tuple(self.snapshot.catalog.ask(p) for p in self.who.pod_sets)
        clusters, room = self.snapshot.clusters, self.snapshot.room.copy()
        cluster_search = ClusterSearch(
            clusters, room, self.profile.filters, self.now, self.snapshot.starts
        )
        why = {
            v.cluster: v.rejection.message for v in cluster_search.explain(demand, asks).verdicts
        }
        allowed = cluster_search.allowed(demand)
        need = room.layout.need
        needs = [
            (need(p.requests, ask), p.count)
            for p, ask in zip(self.who.pod_sets, asks, strict=True)
        ]
        stands = []
        for at, name in enumerate(room.layout.names):
            if allowed[at] and room.copy().take_all(needs, at):
                stands.append(Stand(name, ""))
            else:
                stands.append(Stand(name, why.get(name, "can not hold it now")))
            if len(stands) == CLUSTERS:
                break
        return sorted(stands, key=lambda stand: (stand.message != "", stand.cluster))

    def survey(self, found: Nominee) -> Survey:
        """The state of every cluster for the workload, quota aside. It asks for room (not `quota_only`)."""
        demand = self.who.demand
        assert demand is not None
        search = found.search
        asks = search.asks or (search.assignment.asks if search.assignment else None)
        if asks is None:
            asks = tuple(self.snapshot.catalog.ask(p) for p in self.who.pod_sets)
        snapshot = self.snapshot
        cluster_search = ClusterSearch(
            snapshot.clusters, snapshot.room, self.profile.filters, self.now, snapshot.starts
        )
        return cluster_search.survey(demand, asks, self.who.uid)

    def fits(self, change: Variation) -> bool:
        """Would it be admitted at once?"""
        return self.ask(change).search.mode is Mode.FIT

    def least(self, most: int, will_do: Callable[[int], bool]) -> int | None:
        """The least number in 1 … most that will do, where more of it never does harm.

        None if even `most` does not suffice, or no more trials are allowed.
        """
        if most < 1 or not self.may_ask or not will_do(most):
            return None
        low, high = 1, most
        while low < high and self.may_ask:
            middle = (low + high) // 2
            if will_do(middle):
                high = middle
            else:
                low = middle + 1
        return high

    def _changed(self, change: Variation) -> PendingWorkload:
        who, demand = self.who, self.who.demand
        assert demand is not None
        if change.priority is not None:
            demand = replace(demand, priority=change.priority)
        if change.constraints is not None:
            demand = replace(demand, constraints=change.constraints)
        return replace(
            who,
            demand=demand,
            priority=demand.priority,
            pod_sets=who.pod_sets if change.pod_sets is None else change.pod_sets,
        )

    @contextmanager
    def _other_rules(self, change: Variation) -> Iterator[None]:
        quota_state = self.quota_state
        before = quota_state.tree, quota_state.queues, quota_state.policies
        if change.queue is not None:
            if change.queue.quotas is not self.queue.quotas:
                quota_state.tree = self._tree_with(change.queue)
            quota_state.queues = {**quota_state.queues, change.queue.name: change.queue}
        if change.policy is not None:
            quota_state.policies = {**quota_state.policies, self.who.queue: change.policy}
        try:
            yield
        finally:
            quota_state.tree, quota_state.queues, quota_state.policies = before

    def _tree_with(self, queue: ClusterQueue) -> QuotaTree:
        ledger = self.snapshot.ledger.copy()
        ledger.put(queue)
        return ledger.tree

    def _fleet_with(self, change: Variation) -> LiveFleet:
        """The fleet as it would be, with what is promised still promised."""
        snapshot = self.snapshot
        clusters, room = snapshot.clusters, snapshot.room
        if change.clusters is not None:
            clusters = {**clusters, **change.clusters}
            room = _laid_out(clusters, snapshot.clusters, room)
        room = room.copy()
        for holder in change.gone:
            at = room.layout.position.get(holder.cluster)
            if at is not None:
                leaving.give_back(room, clusters, holder, at)
        cluster_search = ClusterSearch(
            clusters, room, self.profile.filters, self.now, self.snapshot.starts
        )
        claims = {
            uid: nomination
            for uid, nomination in snapshot.nominations.items()
            if nomination.cluster and uid != self.who.uid
        }
        return LiveFleet(room.copy(), room, cluster_search, claims)


def _laid_out(clusters: Mapping[str, Cluster], before: Mapping[str, Cluster], room: Room) -> Room:
    """The same room over clusters of which some have more nodes, at their end."""
    layout = Layout(list(clusters.values()))
    laid = Room.of(layout, clusters)
    resources = room.layout.resources
    rows = [layout.row[resource] for resource in resources]
    for name, at in room.layout.position.items():
        low, high = room.layout.bounds[at], room.layout.bounds[at + 1]
        start = layout.bounds[layout.position[name]]
        laid.free[rows, start : start + high - low] = room.free[:, low:high]
        for row, resource in enumerate(resources):
            more = clusters[name].free.get(resource, 0) - before[name].free.get(resource, 0)
            left = room.left.item(row, at) + more
            laid.left[layout.row[resource], layout.position[name]] = left
    if laid.growth is not None and room.growth is not None:
        laid.growth.free[rows] = room.growth.free
    return laid

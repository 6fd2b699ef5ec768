"""Does what a cycle decided still hold? Decisions against a picture that is newer than the cycle's.

Between a snapshot and the commit of its plan rules, charges and members may change. The commit knows
what did (`hub.services.scheduling.grounds`), and asks here about each decision that rests on it, in the
order of the plan: by the functions that decided it, on the flavors and the cluster that it named. A
decision that holds is charged, so that the next one is held against it; this module makes no decision.
Rule 23 of docs/explain/exactly-once.md.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hub.domain.admission import assign_with_scale_up
from hub.domain.admission.flavor_assigner import Mode, Outlook, Request, Search
from hub.domain.admission.nomination import Nominator
from hub.domain.cycle.capacity_view import LiveFleet, sized
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import BoolArray
from hub.domain.instants import to_micros
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.framework import first_rejection
from hub.domain.plan import Assignment, Lapse, Nominated, Placement, Plan, Reason
from hub.domain.preemption.search import Cause
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.workloads.demand import Demand

Standing = Mapping[str, Demand | Lapse]

_DEFAULTS = QueuePolicy()
_NOBODY = Outlook(Mode.NO_CANDIDATES, 0)


@dataclass(frozen=True, slots=True)
class Moved:
    """Names of records that differ from the picture of the cycle.

    `trees`: roots of quota trees in which limits, policies or charges did; None: of any. `clusters`: what was
    declared or reported of them; those that left are among them. `holding` and `hosting`: roots of quota
    trees, and clusters, of which a holder of quota left, or has another size or priority: preemptions rest
    on these too.
    """

    trees: frozenset[str] | None = frozenset()
    flavors: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()
    holding: frozenset[str] = frozenset()
    hosting: frozenset[str] = frozenset()


def recheck(
    plan: Plan,
    present: Snapshot,
    moved: Moved,
    standing: Standing,
    profile: Profile,
    now: dt.datetime,
) -> dict[str, Lapse]:
    """Decisions that no longer hold, by uid of the workload placed, or for which others would go.

    `present` names every queue, with or without workloads. `standing`: by uid, what a workload asks for
    now, or why it can not be considered; those that are not in it wait no longer, or are not as the cycle
    saw them: they are not charged, and nobody is preempted for them.
    """
    return _Recheck(plan, present, moved, standing, profile, now).run()


class _Recheck:
    def __init__(
        self,
        plan: Plan,
        present: Snapshot,
        moved: Moved,
        standing: Standing,
        profile: Profile,
        now: dt.datetime,
    ) -> None:
        self._plan, self._moved, self._standing, self._now = plan, moved, standing, now
        self._profile, self._catalog = profile, present.catalog
        self._clusters = present.clusters
        self._queues = {queue.name: queue for queue, _ in present.queues}
        self._tree = tree = present.ledger.copy().tree
        policies = {name: present.policies.get(name, _DEFAULTS) for name in tree.queues}
        ranks = None if present.ranks is None else present.ranks.values
        self._state = QuotaState(
            tree, self._queues, policies, ranks=ranks, held=present.holders,
            inactive=present.inactive,
        )  # fmt: skip
        self._room = present.room.copy()
        self._search = ClusterSearch(
            present.clusters, self._room, profile.filters, now, present.starts
        )
        placed = {placement.uid for placement in plan.placements}
        claims = {
            uid: claim
            for uid, claim in present.nominations.items()
            if claim.cluster and uid not in placed
        }
        self._fleet = LiveFleet(present.room, self._room, self._search, claims)
        self._flavored: dict[tuple[str, int], bool] = {}  # by demand and assignment
        self._lapsed: dict[str, Lapse] = {}

    def run(self) -> dict[str, Lapse]:
        for claim in self._plan.nominated:
            if not claim.new:  # it had its turn before all others
                self._take_claim(claim)
        for placement in self._plan.placements:
            self._note(placement.uid, self._placement(placement))
        for claim in self._plan.nominated:
            if claim.new:
                self._note(claim.uid, self._preemptor(claim))
        return self._lapsed

    def _note(self, uid: str, lapse: Lapse | None) -> None:
        if lapse is not None:
            self._lapsed[uid] = lapse

    def _take_claim(self, claim: Nominated) -> None:
        """Who waits for victims is charged as if they were gone, as in the cycle (`admit.stand_by`)."""
        demand = self._standing.get(claim.uid)
        if isinstance(demand, Demand) and demand.queue in self._tree.queues:
            self._tree.charge(demand.queue, claim.assignment.charge)
            for holder in self._victims(claim):
                self._state.remove(holder)

    # --- placements ---------------------------------------------------------------------------

    def _placement(self, placement: Placement) -> Lapse | None:
        demand = self._standing.get(placement.uid)
        if not isinstance(demand, Demand):
            return demand
        lapse = (
            _elsewhere(placement, demand)
            or self._rules(demand, placement.assignment)
            or self._cluster(demand, placement.demand, placement.cluster)
            or self._no_room(demand, placement)
        )
        if lapse is None:
            self._tree.charge(placement.queue, placement.assignment.charge)
        return lapse

    def _rules(self, demand: Demand, assignment: Assignment) -> Lapse | None:
        """Flavors and quota: what the search for flavors says of just these."""
        if not self._rests_on_moved(demand.queue, assignment):
            return None
        key = (demand.key, id(assignment))
        node = self._tree.queues[demand.queue]
        if self._flavored.get(key) and self._tree.fits(node, assignment.charge):
            return None
        found = self._searched(demand, assignment)
        if found.assignment is None or found.mode is not Mode.FIT:
            return Lapse(found.reason, found.message)
        if found.assignment.pod_sets != assignment.pod_sets:
            return _changed(f"the flavors of ClusterQueue {demand.queue}")
        self._flavored[key] = True
        return None

    def _searched(self, demand: Demand, assignment: Assignment) -> Search:
        rules, queue = self._profile.rules, self._queues[demand.queue]
        return assign_with_scale_up.search(
            Request(
                pod_sets=sized(demand.pod_sets, assignment),
                queue=queue,
                policy=self._state.policies[queue.name],
                catalog=self._catalog,
                tree=self._tree,
                node=self._tree.queues[queue.name],
                oracle=lambda _of, _amount: _NOBODY,
                keep=tuple(dict(p.flavors) for p in assignment.pod_sets),
                excluded=rules.excluded,
                ignore_undeclared=rules.ignore_undeclared,
            ),
            grows=False,
        )

    def _cluster(self, demand: Demand, decided: str, name: str) -> Lapse | None:
        """`decided`: the key of the demand in the plan."""
        if not name or (name not in self._moved.clusters and demand.key == decided):
            return None
        at = self._room.layout.position.get(name)
        if at is None:
            return Lapse(Reason.NO_CLUSTER_MATCHES, f"cluster {name} has left the fleet")
        allowed = self._search.allowed(demand)
        if allowed[at]:
            return self._avoided(demand, decided, name, allowed)
        cluster = self._clusters[name]
        why = first_rejection(self._profile.filters, demand.constraints, cluster, self._now)
        said = why.message if why is not None else "its preferences no longer allow it"
        return Lapse(Reason.NO_CLUSTER_MATCHES, f"cluster {name} may no longer take it: {said}")

    def _avoided(
        self, demand: Demand, decided: str, name: str, allowed: BoolArray
    ) -> Lapse | None:
        """It is to avoid the cluster since the decision, and another one may take it."""
        avoided = demand.constraints.avoided
        if name not in avoided or demand.key == decided:
            return None
        others = zip(self._room.layout.names, allowed, strict=True)
        if not any(may and other not in avoided for other, may in others):
            return None
        return _changed(f"whether its LocalQueue is stopped in cluster {name}")

    def _no_room(self, demand: Demand, placement: Placement) -> Lapse | None:
        if placement.cluster not in self._moved.clusters:
            return None
        at = self._room.layout.position[placement.cluster]
        need = self._room.layout.need
        asks = placement.assignment.asks
        pairs = zip(sized(demand.pod_sets, placement.assignment), asks, strict=True)
        if self._room.take_all([(need(p.requests, ask), p.count) for p, ask in pairs], at):
            return None
        message = f"cluster {placement.cluster} has no room for it any more"
        return Lapse(Reason.NO_CLUSTER_FITS, message)

    # --- preemption ----------------------------------------------------------------------------

    def _preemptor(self, claim: Nominated) -> Lapse | None:
        """It would still take the same flavors, at the cost of the same workloads, in the same cluster."""
        demand = self._standing.get(claim.uid)
        if claim.who is None or isinstance(demand, Lapse):
            return demand if isinstance(demand, Lapse) else None
        if demand is None:
            return _changed("the workload")
        if demand.queue != claim.who.queue:
            return _changed("the ClusterQueue of its LocalQueue")
        who = replace(claim.who, demand=demand, priority=demand.priority, pod_sets=demand.pod_sets)
        gone = self._victims(claim)
        decided = claim.who.demand.key if claim.who.demand is not None else ""
        lapse = self._cluster(demand, decided, claim.cluster) or self._same_victims(
            who, claim, again=demand.key != decided
        )
        if lapse is None and claim.cluster in self._moved.clusters:
            pod_sets = sized(who.pod_sets, claim.assignment)
            if not self._fleet.fits_on(who, pod_sets, claim.assignment.asks, claim.cluster, gone):
                lapse = Lapse(
                    Reason.NO_CLUSTER_FITS,
                    f"cluster {claim.cluster} would not have the room for it any more",
                )
        if lapse is None:
            self._tree.charge(demand.queue, claim.assignment.charge)
            for holder in gone:
                self._state.remove(holder)
        return lapse

    def _same_victims(
        self, who: PendingWorkload, claim: Nominated, *, again: bool
    ) -> Lapse | None:
        """`again`: search for them though nothing moved, since it asks for something else."""
        evictions = [e for e in self._plan.evictions if e.by == claim.uid]
        going = {e.uid for e in evictions}
        if claim.cluster in self._moved.hosting and any(
            e.cause == Cause.FOR_ROOM for e in evictions
        ):
            return _changed(
                f"what runs on cluster {claim.cluster}"
            )  # the next report tells its room
        root = self._tree.queues[who.queue].root().name
        again = again or root in self._moved.holding
        again = again or self._rests_on_moved(who.queue, claim.assignment)
        if not going or not (again or claim.cluster in self._moved.clusters):
            return None
        nominator = Nominator(self._state, self._catalog, self._profile.rules, self._fleet)
        nominator.now = to_micros(self._now)
        found = nominator.nominate(who, keep=claim.assignment)
        if found.search.assignment is None:
            return Lapse(found.search.reason, found.search.message)
        if found.search.assignment.pod_sets != claim.assignment.pod_sets:
            return _changed(f"the flavors of ClusterQueue {who.queue}")
        if {v.holder.uid for v in found.victims if not v.holder.evicted} != going:
            return _changed("the set of workloads that it may preempt")
        return None

    def _victims(self, claim: Nominated) -> list[AdmittedWorkload]:
        wanted = set(claim.victims)
        return [holder for holder in self._state.all_holders() if holder.uid in wanted]

    def _rests_on_moved(self, queue: str, assignment: Assignment) -> bool:
        moved = self._moved
        if moved.trees is None or self._tree.queues[queue].root().name in moved.trees:
            return True
        return any(f in moved.flavors for p in assignment.pod_sets for _, f in p.flavors)


def _elsewhere(placement: Placement, demand: Demand) -> Lapse | None:
    if demand.queue != placement.queue:
        return _changed("the ClusterQueue of its LocalQueue")
    if demand.placement != placement.placed_by:
        return _changed("the placement that selects it")
    return None


def _changed(what: str) -> Lapse:
    return Lapse(Reason.PENDING_EVALUATION, f"{what} changed after the decision")

"""Does what a cycle decided still hold? Decisions against a picture that is newer than the cycle's.

Between a snapshot and the commit of its plan rules, charges and members may change. The commit knows
what did (`hub.services.scheduling.grounds`), and asks here about each decision that rests on it, in the
order of the plan: by the functions that decided it, on the flavors and the cluster that it named. A
decision that holds is charged, so that the next one is held against it; this module makes no decision.
Preemptors are searched for again as the cycle did, round by round (`recheck_claims`): with nothing changed,
nothing lapses. Rule 23 of docs/explain/exactly-once.md.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hub.domain.admission import assign_with_scale_up
from hub.domain.admission.flavor_assigner import Mode, Outlook, Request, Search
from hub.domain.cycle.capacity_view import LiveFleet
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.recheck_claims import PlannedClaims, changed
from hub.domain.cycle.sizes import sized
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import BoolArray
from hub.domain.fleet.free_capacity import Need
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.framework import first_rejection
from hub.domain.plan import Assignment, Lapse, Nominated, Placement, Plan, Reason
from hub.domain.quota.holders import QuotaState
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.workloads.demand import Demand

Standing = Mapping[str, Demand | Lapse]

# Placements of which a commit takes the room again, on clusters with less of it: this bounds how long the
# writer is held. The others wait for the next cycle, which sees these clusters as they are.
ROOM_LOOKS: Final = 1000
_DEFAULTS = QueuePolicy()
_NOBODY = Outlook(Mode.NO_CANDIDATES, 0)


@dataclass(frozen=True, slots=True)
class Moved:
    """Names of records that differ from the picture of the cycle.

    `trees`: roots of quota trees in which limits, policies or charges did; None: of any. `clusters`: what was
    declared or reported of them; those that left are among them. `roomy`: those of them on whose every node
    at least as much is free as in that picture. `holding` and `hosting`: roots of quota trees, and clusters,
    of which a holder of quota left, or has another size or priority: preemptions rest on these too.
    """

    trees: frozenset[str] | None = frozenset()
    flavors: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()
    holding: frozenset[str] = frozenset()
    hosting: frozenset[str] = frozenset()
    roomy: frozenset[str] = frozenset()


class Recheck:
    """The decisions of `plan` that still hold on `present`, which names every queue, with or without
    workloads.

    `standing`: by uid, the present request of a workload, or the reason why it can not be considered;
    workloads that are not in it no longer wait, or have changed since the cycle: they are not charged, and
    preempt nothing.
    """

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
        ranks = None if present.ranks is None else present.ranks.copy()
        self._state = QuotaState(
            tree, self._queues, policies, ranks=None if ranks is None else ranks.values,
            held=present.holders, inactive=present.inactive,
        )  # fmt: skip
        self._room = present.room.copy()
        self._search = ClusterSearch(
            present.clusters, self._room, profile.filters, now, present.starts
        )
        claims = {uid: claim for uid, claim in present.nominations.items() if claim.cluster}
        self._fleet = LiveFleet(present.room, self._room, self._search, claims)
        self._claims = PlannedClaims(plan, present, self._state, self._fleet, profile, now, ranks)
        self._flavored: dict[tuple[str, int], bool] = {}  # by demand and assignment
        self._resting: dict[tuple[str, int], bool] = {}  # by queue and assignment
        self._allowed: dict[str, BoolArray] = {}  # by demand
        self._needed: dict[tuple[str, int], tuple[tuple[Need, int], ...]] = {}
        # Is quota looked at? Otherwise nothing needs to be charged.
        self._counts = moved.trees != frozenset() or bool(moved.flavors or plan.nominated)
        self._looks = 0  # at the room of a cluster that has less than the cycle saw
        self._lapsed: dict[str, Lapse] = {}
        self._judged: dict[str, Lapse | None] = {}  # placements of this round, where claims matter

    def lapsed(self) -> dict[str, Lapse]:
        """Decisions that no longer hold, by uid of the workload placed, or for which others would go."""
        plan = self._plan
        if not plan.nominated:
            self._place(0, len(plan.placements))
            return self._lapsed
        starts = plan.rounds or (0,)
        for number, start in enumerate(starts):
            end = starts[number + 1] if number + 1 < len(starts) else len(plan.placements)
            self._round(number, start if number else 0, end)
        return self._lapsed

    def _place(self, start: int, end: int) -> None:
        for placement in self._plan.placements[start:end]:
            self._note(placement.uid, self._placement(placement))

    def _round(self, number: int, start: int, end: int) -> None:
        """One round as in the cycle: what is searched for first, then the turns of all."""
        claims = self._claims
        mine = [claim for claim in self._plan.nominated if claim.round == number]
        claims.begin()
        for claim in mine:
            if claim.new:
                self._nominate(claim)
        self._judged = {
            p.uid: self._rules(demand, p.assignment)
            for p in self._plan.placements[start:end]
            if isinstance(demand := self._standing.get(p.uid), Demand)
            and claims.concern(p.queue)
            and p.queue == demand.queue
        }
        at = start
        for claim in mine:
            self._place(at, claim.at)
            at = max(at, claim.at)
            if claim.new:
                self._note(claim.uid, self._preemptor(claim))
            elif (demand := self._waiting(claim)) is not None:
                claims.take_again(claim, demand)
        self._place(at, end)
        placed = self._plan.placements[start:end]
        claims.end(p.uid for p in placed if p.uid not in self._lapsed and p.uid in self._standing)

    def _waiting(self, claim: Nominated) -> Demand | None:
        """The request of a preemptor of an earlier cycle; None: it is not charged."""
        demand = self._standing.get(claim.uid)
        known = isinstance(demand, Demand) and demand.queue in self._tree.queues
        return demand if known and isinstance(demand, Demand) else None

    def _note(self, uid: str, lapse: Lapse | None) -> None:
        if lapse is not None:
            self._lapsed[uid] = lapse

    # --- placements ---------------------------------------------------------------------------

    def _placement(self, placement: Placement) -> Lapse | None:
        demand = self._standing.get(placement.uid)
        if not isinstance(demand, Demand):
            return demand
        lapse = (
            _elsewhere(placement, demand)
            or self._quota(demand, placement)
            or self._cluster(demand, placement.demand, placement.cluster)
            or self._no_room(demand, placement)
        )
        if lapse is None and self._counts:
            self._claims.charge(placement.queue, placement.assignment.charge)
        return lapse

    def _quota(self, demand: Demand, placement: Placement) -> Lapse | None:
        """Flavors and quota, also beside who waits for victims."""
        if placement.uid not in self._judged:
            return self._rules(demand, placement.assignment)
        lapse = self._judged[placement.uid]
        if lapse is None and self._rests_on_moved(demand.queue, placement.assignment):
            node = self._tree.queues[demand.queue]
            if not self._claims.fits(node, placement.assignment.charge):
                message = "its quota is kept for a workload that waits for those it preempts"
                return Lapse(Reason.WAITING_FOR_QUOTA, message)
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
            return changed(f"the flavors of ClusterQueue {demand.queue}")
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
        if (allowed := self._allowed.get(demand.key)) is None:
            allowed = self._allowed[demand.key] = self._search.allowed(demand)
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
        return changed(f"whether its LocalQueue is stopped in cluster {name}")

    def _no_room(self, demand: Demand, placement: Placement) -> Lapse | None:
        """The reason why the cluster lacks the room now; otherwise takes it, if claims need that."""
        name, moved = placement.cluster, self._moved
        tight = name in moved.clusters and name not in moved.roomy
        if not name or not (tight or self._claims.look_at_room):
            return None
        self._looks += tight
        if self._looks > ROOM_LOOKS:
            return changed("the room of many clusters")
        needs = self._needs(demand, placement.assignment)
        nodes = placement.nodes
        if self._fleet.stand(placement.uid, needs, name, nodes=nodes, certainly=not tight):
            return None
        return Lapse(Reason.NO_CLUSTER_FITS, f"cluster {name} has no room for it any more")

    def _needs(self, demand: Demand, assignment: Assignment) -> tuple[tuple[Need, int], ...]:
        key = (demand.key, id(assignment))
        found = self._needed.get(key)
        if found is None:
            pairs = zip(sized(demand.pod_sets, assignment), assignment.asks, strict=True)
            need = self._room.layout.need
            found = self._needed[key] = tuple((need(p.requests, ask), p.count) for p, ask in pairs)
        return found

    # --- preemption ----------------------------------------------------------------------------

    def _nominate(self, claim: Nominated) -> None:
        """Search for its victims where the answer may differ, on the quota that its round began with."""
        demand = self._standing.get(claim.uid)
        if claim.who is None or not isinstance(demand, Demand) or demand.queue != claim.who.queue:
            return
        root = self._tree.queues[demand.queue].root().name
        again = demand.key != _key_of(claim) or root in self._moved.holding
        again = again or claim.cluster in self._moved.clusters
        if again or self._rests_on_moved(demand.queue, claim.assignment):
            self._claims.nominate(claim, demand)

    def _preemptor(self, claim: Nominated) -> Lapse | None:
        """It would still take the same flavors, at the cost of the same workloads, in the same cluster."""
        demand = self._standing.get(claim.uid)
        if claim.who is None or isinstance(demand, Lapse):
            return demand if isinstance(demand, Lapse) else None
        if demand is None:
            return changed("the workload")
        if demand.queue != claim.who.queue:
            return changed("the ClusterQueue of its LocalQueue")
        lapse = self._cluster(demand, _key_of(claim), claim.cluster) or self._claims.other_victims(
            claim, demand, hosting=claim.cluster in self._moved.hosting
        )
        if lapse is None and claim.cluster in self._moved.clusters:
            lapse = self._claims.no_room(claim, demand)
        if lapse is None:
            self._claims.take(claim, demand)
        return lapse

    def _rests_on_moved(self, queue: str, assignment: Assignment) -> bool:
        key = (queue, id(assignment))
        found = self._resting.get(key)
        if found is None:
            found = self._resting[key] = self._rests(queue, assignment)
        return found

    def _rests(self, queue: str, assignment: Assignment) -> bool:
        moved = self._moved
        if moved.trees is None or self._tree.queues[queue].root().name in moved.trees:
            return True
        return any(f in moved.flavors for p in assignment.pod_sets for _, f in p.flavors)


def _key_of(claim: Nominated) -> str:
    """The key of its demand in the plan."""
    return claim.who.demand.key if claim.who is not None and claim.who.demand is not None else ""


def _elsewhere(placement: Placement, demand: Demand) -> Lapse | None:
    if demand.queue != placement.queue:
        return changed("the ClusterQueue of its LocalQueue")
    if demand.placement != placement.placed_by:
        return changed("the placement that selects it")
    return None

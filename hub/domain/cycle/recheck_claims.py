"""Preemptors of a plan, searched for again round by round as the cycle found them (`recheck`).

A search sees the quota with which its round began: what earlier rounds placed, and no claims. A turn also
sees the charges of earlier turns, with the victims of earlier claims gone. So the order of the plan is
the order of the cycle, and where nothing changed each search finds the same victims.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from hub.domain.admission.flavor_assigner import Mode
from hub.domain.admission.nomination import Nominator, Nominee
from hub.domain.cycle.capacity_view import LiveFleet
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.sizes import sized
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.instants import to_micros
from hub.domain.plan import Eviction, Lapse, Nominated, Plan, Reason
from hub.domain.preemption.search import Cause
from hub.domain.quota.declared import Usage
from hub.domain.quota.holders import AdmittedWorkload, Overlay, PendingWorkload, QuotaState
from hub.domain.quota.tree import Node
from hub.domain.quota.usage_history import Ranks
from hub.domain.workloads.demand import Demand


class PlannedClaims:
    """Workloads that wait for victims, in the order of the cycle's decisions. `state` and `fleet` change."""

    def __init__(
        self,
        plan: Plan,
        present: Snapshot,
        state: QuotaState,
        fleet: LiveFleet,
        profile: Profile,
        now: dt.datetime,
        ranks: Ranks | None,
    ) -> None:
        self._plan, self._state, self._fleet, self._ranks = plan, state, fleet, ranks
        self._nominator = Nominator(state, present.catalog, profile.rules, fleet)
        self._nominator.now = to_micros(now)
        self._preempted = {uid: set(victims) for uid, victims in present.preempted.items()}
        self._nominator.preempted = self._preempted
        self._evictions: dict[str, list[Eviction]] = {}
        for eviction in plan.evictions:
            self._evictions.setdefault(eviction.by, []).append(eviction)
        tree = state.tree
        queues = {c.who.queue for c in plan.nominated if c.who is not None} & tree.queues.keys()
        self._roots = {tree.queues[queue].root().name for queue in queues}
        self.look_at_room = bool(plan.evictions)
        self._standing: list[tuple[str, Nominated, list[AdmittedWorkload]]] = []
        self._found: dict[str, Nominee] = {}  # of this round
        self._claimed: dict[str, AdmittedWorkload] = {}  # victims whose going has been counted
        self._after: Overlay | None = None  # with claims charged and these gone
        self._mine: list[tuple[Nominated, list[AdmittedWorkload]]] = []  # turns of this round

    def concern(self, queue: str) -> bool:
        """Is there a claim in the quota tree of this queue?"""
        node = self._state.tree.queues.get(queue)
        return node is not None and node.root().name in self._roots

    def begin(self) -> None:
        """A round begins: who waits since an earlier one takes what it did, and its victims are gone."""
        self._found, self._mine, self._claimed, self._after = {}, [], {}, None
        for queue, claim, gone in self._standing:
            self._stand(queue, claim.assignment.charge, gone)

    def nominate(self, claim: Nominated, demand: Demand) -> None:
        """Search for the victims of one whose turn comes in this round."""
        if claim.uid in self._evictions:
            found = self._nominator.nominate(_who(claim, demand), keep=claim.assignment)
            self._found[claim.uid] = found

    def charge(self, queue: str, usage: Usage) -> None:
        """The charge of a placement."""
        self._state.tree.charge(queue, usage)
        if self._after is not None:
            with self._afterwards():
                self._state.tree.charge(queue, usage)

    def fits(self, node: Node, usage: Usage) -> bool:
        """Is there quota for it beside all claims?"""
        with self._afterwards():
            return self._state.tree.fits(node, usage)

    def other_victims(self, claim: Nominated, demand: Demand, *, hosting: bool) -> Lapse | None:
        """The reason why a preemptor would not take the same flavors at the cost of the same workloads.

        `hosting`: holders of quota changed on its cluster.
        """
        going = {e.uid for e in self._evictions.get(claim.uid, ())}
        if hosting and self._makes_room(claim):  # the next report says how much room is left
            return changed(f"what runs on cluster {claim.cluster}")
        found = self._found.get(claim.uid)
        if found is None:
            return None
        who = _who(claim, demand)
        if any(v.holder.uid in self._claimed for v in found.victims):
            with self._afterwards():
                gone = list(self._claimed.values())
                found = self._nominator.nominate(who, keep=claim.assignment, gone=gone)
        search = found.search
        if search.assignment is None:
            return Lapse(search.reason, search.message)
        if search.assignment.pod_sets != claim.assignment.pod_sets:
            return changed(f"the flavors of ClusterQueue {who.queue}")
        victims = [victim.holder for victim in found.victims]
        if search.mode is Mode.FIT or {v.uid for v in victims if not v.evicted} != going:
            return changed("the set of workloads that it may preempt")
        with self._afterwards(), self._state.without(victims):
            if self._state.tree.fits(self._state.node(who.queue), claim.assignment.charge):
                return None
        return Lapse(Reason.WAITING_FOR_QUOTA, "its quota was taken after the decision")

    def no_room(self, claim: Nominated, demand: Demand) -> Lapse | None:
        """The reason why its cluster would not hold it once its victims are gone."""
        if not claim.cluster:
            return None
        who = _who(claim, demand)
        pod_sets = sized(who.pod_sets, claim.assignment)
        leaving = self._leaving(claim, self._victims(claim))
        gone = [holder for holder in leaving if holder.cluster == claim.cluster]
        asks, nodes = claim.assignment.asks, claim.nodes
        if self._fleet.fits_on(who, pod_sets, asks, claim.cluster, gone, nodes):
            return None
        message = f"cluster {claim.cluster} would not have the room for it any more"
        return Lapse(Reason.NO_CLUSTER_FITS, message)

    def take(self, claim: Nominated, demand: Demand) -> None:
        """A preemptor whose decision holds: its quota and room are kept, its victims are gone."""
        victims = self._victims(claim)
        if claim.cluster and self.look_at_room:
            who = _who(claim, demand)
            leaving = self._leaving(claim, victims)
            self._fleet.keep(who, claim.assignment, claim.cluster, leaving, claim.nodes)
        self.take_again(claim, demand, victims)

    def take_again(
        self, claim: Nominated, demand: Demand, victims: list[AdmittedWorkload] | None = None
    ) -> None:
        """One that waits since an earlier cycle, with its room kept already."""
        gone = self._victims(claim) if victims is None else victims
        self._stand(demand.queue, claim.assignment.charge, gone)
        self._mine.append((claim, gone))
        self._standing.append((demand.queue, claim, gone))

    def end(self, placed: Iterable[str]) -> None:
        """End of the round: its placements hold quota, and its victims are evicted."""
        for uid in placed:
            holder = self._plan.admitted.get(uid)
            if holder is None or not self.concern(holder.queue):
                continue
            self._state.hold(holder)
            policy = self._state.policies.get(holder.queue)
            if self._ranks is not None and policy is not None and policy.by_usage:
                self._ranks.penalise(f"{holder.namespace}/{holder.local_queue}", holder.usage)
        for claim, gone in self._mine:
            told = self._preempted.setdefault(claim.uid, set())
            for holder in gone:
                told.update(() if holder.evicted else (holder.uid,))
                self._state.mark_evicted(holder)

    def _stand(self, queue: str, usage: Usage, gone: Sequence[AdmittedWorkload]) -> None:
        if self._after is None:
            self._after = self._state.apart()
        with self._afterwards():
            self._state.tree.charge(queue, usage)
            for holder in gone:
                if self._state.holds(holder):
                    self._state.remove(holder)
        self._claimed.update((holder.uid, holder) for holder in gone)

    def _afterwards(self) -> AbstractContextManager[None]:
        return nullcontext() if self._after is None else self._state.seen_as(self._after)

    def _victims(self, claim: Nominated) -> list[AdmittedWorkload]:
        wanted = set(claim.victims)
        return [holder for holder in self._state.all_holders() if holder.uid in wanted]

    def _leaving(
        self, claim: Nominated, victims: Sequence[AdmittedWorkload]
    ) -> list[AdmittedWorkload]:
        """The victims whose room it counts on, as in the cycle (`admit`)."""
        own = {holder.uid for holder in victims}
        if self._makes_room(claim):
            return list(victims)
        return [*victims, *(h for uid, h in self._claimed.items() if uid not in own)]

    def _makes_room(self, claim: Nominated) -> bool:
        return any(e.cause == Cause.FOR_ROOM for e in self._evictions.get(claim.uid, ()))


def changed(what: str) -> Lapse:
    """A decision whose grounds changed: the next cycle decides."""
    return Lapse(Reason.PENDING_EVALUATION, f"{what} changed after the decision")


def _who(claim: Nominated, demand: Demand) -> PendingWorkload:
    """The preemptor as it stands now."""
    assert claim.who is not None
    return replace(claim.who, demand=demand, priority=demand.priority, pod_sets=demand.pod_sets)

"""The fleet below quota, for rounds with preemption: room now, and room once some workloads are gone.

Who was nominated for a cluster keeps a claim to its room: nobody else is offered it, and the nominee is
offered nothing else. A cluster's room without somebody is laid out anew
from what it was before the cycle: those who go are given back, then everything taken since is taken
again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hub.domain.admission import assign_with_scale_up
from hub.domain.cycle.snapshot import Nomination
from hub.domain.fleet.clusters import IntArray
from hub.domain.fleet.free_capacity import Need, NodeAsk, Room
from hub.domain.placement.cluster_search import Choice, ClusterSearch, NoChoice, in_new_nodes
from hub.domain.placement.fitting import orders_of
from hub.domain.plan import Assignment, Reason
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, Pods
from hub.domain.workloads.demand import Demand
from shared.resources import PodSet

_Needs = tuple[tuple[Need, int], ...]


@dataclass(slots=True)
class Taken:
    """Room taken on a cluster since the cycle began.

    `kept`: by nodes, where it is a claim, and `counts_on`: who leaves that cluster for it.
    """

    at: int
    needs: _Needs
    kept: IntArray | None = None
    counts_on: Sequence[AdmittedWorkload] = ()


class LiveFleet:
    """A `nomination.Fleet` over the search of a live cycle. `choices`: by uid, where each was placed."""

    def __init__(
        self,
        before: Room,
        room: Room,
        search: ClusterSearch,
        nominations: Mapping[str, Nomination],
    ) -> None:
        self._before = before
        self._room = room  # the search's own
        self._search = search
        self._taken: dict[str, Taken] = {}  # by uid
        self._claims: dict[str, int] = {}  # uid → cluster
        self._opened: Mapping[str, int] = {}  # nodes that the last look would have added, by pool
        self.choices: dict[str, Choice] = {}
        self.refusals: dict[str, NoChoice] = {}
        for uid, nomination in sorted(nominations.items()):
            at = room.layout.position.get(nomination.cluster)
            if at is not None:
                self._claim(uid, at, self._needs_of(nomination.pods), nomination.leaving)

    @property
    def grows(self) -> bool:
        """May any pool still add a node?"""
        return self._search.grows

    def can_hold(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        asks: tuple[NodeAsk, ...],
        gone: Sequence[AdmittedWorkload] = (),
    ) -> bool:
        """May some cluster hold all pods, once `gone` are?"""
        demand = demand_at(who, pod_sets)
        holds = (
            self._search.holds if gone else self._search.can_hold
        )  # nobody goes for a mere chance
        if who.uid not in self._claims and holds(demand, asks):
            return True
        allowed = self._search.allowed(demand)
        needs = self._needs(pod_sets, asks)
        leaving = self._by_cluster(gone)
        return any(
            self._fits(who.uid, at, needs, leaving.get(at, ()))
            for at in self._open(who.uid, leaving)
            if allowed[at]
        )

    def place(self, who: PendingWorkload, assignment: Assignment) -> str | None:
        """Take room on the best cluster that can hold all of it; its name."""
        pod_sets = sized(who.pod_sets, assignment)
        demand = demand_at(who, pod_sets)
        needs = self._needs(pod_sets, assignment.asks)
        at = self._claims.get(who.uid)
        if at is None:
            choice = self._search.picker(demand, assignment.asks).place(who.uid)
            if choice is None:
                return None
            at = self._room.layout.position[choice.cluster]
            self._taken[who.uid] = Taken(at, needs)
        else:
            if not self._search.allowed(demand)[at] or not self._fits(who.uid, at, needs, ()):
                return None
            name = self._room.layout.names[at]
            score = self._search.standing(demand, assignment.asks, at)
            choice = Choice(name, (in_new_nodes(score, self._opened),), (), 0)
            del self._claims[who.uid]  # the room stays taken
        self.choices[who.uid] = choice
        return choice.cluster

    def claim(
        self, who: PendingWorkload, assignment: Assignment, gone: Sequence[AdmittedWorkload]
    ) -> str | None:
        """The best cluster that can hold all of it once `gone` are; its room is kept for it."""
        if who.uid in self._claims:
            return self._room.layout.names[self._claims[who.uid]]
        pod_sets = sized(who.pod_sets, assignment)
        demand = demand_at(who, pod_sets)
        needs = self._needs(pod_sets, assignment.asks)
        fitting = self._fitting(who.uid, demand, needs, gone)
        if self.grows and any(ask.growing for ask in assignment.asks):  # real room goes first
            there = self._needs(pod_sets, assign_with_scale_up.there(assignment.asks))
            fitting = self._fitting(who.uid, demand, there, gone) or fitting
        if not fitting:
            return None
        best = self._search.best_of(demand, assignment.asks, fitting, who.uid)
        self._claim(who.uid, best, needs, gone)
        return self._room.layout.names[best]

    def _fitting(
        self, uid: str, demand: Demand, needs: _Needs, gone: Sequence[AdmittedWorkload]
    ) -> list[int]:
        """The clusters that can hold it once `gone` are: those of `gone`, else any."""
        allowed = self._search.allowed(demand)
        leaving = self._by_cluster(gone)
        every = range(len(self._room.layout.names))
        return [
            at
            for at in self._open(uid, leaving)
            if allowed[at] and self._fits(uid, at, needs, leaving.get(at, ()))
        ] or [at for at in every if allowed[at] and self._fits(uid, at, needs, ())]

    def explain(
        self, who: PendingWorkload, pod_sets: Sequence[PodSet], asks: tuple[NodeAsk, ...]
    ) -> tuple[Reason, str]:
        """Why no cluster holds it, and which came nearest."""
        none = self._search.explain(demand_at(who, pod_sets), asks)
        self.refusals[who.uid] = none
        return none.reason, none.message

    def leaving_for(self, who: PendingWorkload) -> Sequence[AdmittedWorkload]:
        """Who was told to go from the cluster whose room is kept for it, and is still there."""
        return self._taken[who.uid].counts_on if who.uid in self._claims else ()

    def has_claim(self, who: PendingWorkload) -> bool:
        """Is room kept for it already?"""
        return who.uid in self._claims

    def may_use(self, who: PendingWorkload) -> list[str]:
        """The clusters that could hold it were they empty: the one it has a claim to, else all."""
        layout = self._room.layout
        names = layout.names
        allowed = self._search.allowed(demand_at(who, who.pod_sets)).copy()
        for pod_set in who.pod_sets:
            allowed &= layout.large_enough(layout.need(pod_set.requests, NodeAsk()))
        claimed = self._claims.get(who.uid)
        every = range(len(names)) if claimed is None else (claimed,)
        return [names[at] for at in every if allowed[at]]

    def stands_on(self, holder: AdmittedWorkload) -> str:
        """The cluster that holds it."""
        return holder.cluster

    def fits_on(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        asks: tuple[NodeAsk, ...],
        cluster: str,
        gone: Sequence[AdmittedWorkload],
    ) -> bool:
        """Can this cluster hold all pods once `gone` are?"""
        at = self._room.layout.position[cluster]
        return self._fits(who.uid, at, self._needs(pod_sets, asks), gone)

    def stand(self, uid: str, needs: _Needs, cluster: str, *, certainly: bool = False) -> bool:
        """Take room on this cluster, as it was decided; False where it does not fit.

        `certainly`: also where it does not.
        """
        at = self._room.layout.position[cluster]
        if self._claims.get(uid) == at:
            if not certainly and not self._fits(uid, at, needs, ()):
                return False
            del self._claims[uid]  # the room stays taken
            return True
        if not self._room.take_all(needs, at):
            if not certainly:
                return False
            for need, count in needs:
                self._room.promise(need, count, at)
        self._taken[uid] = Taken(at, needs)
        return True

    def keep(
        self,
        who: PendingWorkload,
        assignment: Assignment,
        cluster: str,
        gone: Sequence[AdmittedWorkload],
    ) -> None:
        """Keep room of this cluster for it, as it was decided: it fits there once `gone` are."""
        if who.uid not in self._claims:
            needs = self._needs(sized(who.pod_sets, assignment), assignment.asks)
            self._claim(who.uid, self._room.layout.position[cluster], needs, gone)

    def _by_cluster(self, gone: Iterable[AdmittedWorkload]) -> dict[int, list[AdmittedWorkload]]:
        found: dict[int, list[AdmittedWorkload]] = {}
        for holder in gone:
            at = self._room.layout.position.get(self.stands_on(holder))
            if at is not None:
                found.setdefault(at, []).append(holder)
        return found

    def _open(self, uid: str, leaving: Mapping[int, Sequence[AdmittedWorkload]]) -> list[int]:
        """Clusters worth a look beside what the search sees: the claimed one, else those somebody leaves."""
        return [self._claims[uid]] if uid in self._claims else sorted(leaving)

    def _fits(self, uid: str, at: int, needs: _Needs, leaving: Sequence[AdmittedWorkload]) -> bool:
        """Can cluster `at` hold it, once those who leave that cluster are gone?"""
        room = self._room
        with room.trial(at):
            if leaving or uid in self._claims:
                self._lay_out_anew(uid, leaving, at)
            if room.growth is None:
                return _take(room, needs, at)
            room.growth.opened.clear()
            fits = _take(room, needs, at)
            self._opened = room.growth.opened
            return fits

    def _lay_out_anew(self, uid: str, leaving: Sequence[AdmittedWorkload], at: int) -> None:
        """Make cluster `at` what it were without the claim of `uid` and without those who leave.

        Other claims take what those leave on whom they count, and of the rest only what that lacks.
        """
        room = self._room
        room.set_back(at, self._before)
        self._give_back(leaving, at)
        away = {uid, *(h.uid for h in leaving)}
        others = [t for other, t in self._taken.items() if t.at == at and other not in away]
        counted_on = {h.uid: h for t in others for h in t.counts_on if h.uid not in away}
        early = self._freed(counted_on.values(), at) if counted_on else None
        for taken in others:
            if taken.kept is None:
                for need, count in taken.needs:
                    room.promise(need, count, at)
                continue
            room.keep(taken.kept, at)
            if early is not None:
                early -= taken.kept
        if early is not None:  # what is left of it is nobody's claim, and not free yet
            room.keep(np.maximum(early, 0), at)

    def _freed(self, leaving: Iterable[AdmittedWorkload], at: int) -> IntArray:
        """Give back what these leave; how much that is, as of `Room.nodes_of`."""
        before = self._room.nodes_of(at).copy()
        self._give_back(leaving, at)
        freed: IntArray = self._room.nodes_of(at) - before
        return freed

    def _give_back(self, leaving: Iterable[AdmittedWorkload], at: int) -> None:
        for holder in leaving:
            if holder.uid not in self._taken:  # it was there before the cycle
                for need, count in self._needs_of(holder.pods):
                    self._room.give_back(need, count, at)

    def _claim(self, uid: str, at: int, needs: _Needs, gone: Sequence[AdmittedWorkload]) -> None:
        """Keep the nodes on which it will fit: what is free of them, and what becomes free."""
        name = self._room.layout.names[at]
        room = self._room
        counts_on = [h for h in gone if h.cluster == name]
        with room.trial(at):
            self._give_back(counts_on, at)
            before = room.nodes_of(at).copy()
            if not _take(room, needs, at):
                self._lay_out_anew(uid, counts_on, at)
                before = room.nodes_of(at).copy()
                if not _take(room, needs, at):
                    for need, count in needs:
                        room.promise(need, count, at)
            kept = before - room.nodes_of(at)
        self._claims[uid] = at
        self._taken[uid] = Taken(at, needs, kept, counts_on)
        self._room.keep(kept, at)

    def _needs(self, pod_sets: Sequence[PodSet], asks: Sequence[NodeAsk]) -> _Needs:
        pairs = zip(pod_sets, asks, strict=True)
        return self._needs_of(tuple((p.requests, ask, p.count) for p, ask in pairs))

    def _needs_of(self, pods: Pods) -> _Needs:
        need = self._room.layout.need
        return tuple((need(requests, ask), count) for requests, ask, count in pods)


def _take(room: Room, needs: _Needs, at: int) -> bool:
    """Put all pods in cluster `at`, or none, in any order that is worth a try."""
    return any(room.take_all(order, at) for order in orders_of(needs))


def sized(pod_sets: Sequence[PodSet], assignment: Assignment) -> tuple[PodSet, ...]:
    """The pod sets with as many pods as were assigned."""
    pairs = zip(pod_sets, assignment.pod_sets, strict=True)
    return tuple(p if p.count == a.count else replace(p, count=a.count) for p, a in pairs)


def demand_at(who: PendingWorkload, pod_sets: Sequence[PodSet]) -> Demand:
    """The class of equals of a workload, at the size that is looked at."""
    demand = who.demand
    assert demand is not None
    counts = [p.count for p in pod_sets]
    if counts == [p.count for p in demand.pod_sets]:
        return demand
    shape = f"{demand.shape}/{','.join(map(str, counts))}"
    return replace(demand, shape=shape, pod_sets=tuple(pod_sets))

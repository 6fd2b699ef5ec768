"""The fleet below quota, for rounds with preemption: room now, and room once some workloads are gone.

A workload nominated for a cluster keeps a claim to its room, on the nodes that its nomination names: no
other workload is offered that room, and the nominee is offered no other. To lay out a cluster's room
without some
workloads, the view starts from the state before the cycle: it releases those that leave, on the nodes of
their pods (`leaving`), then takes again everything taken since.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from hub.domain.admission import assign_with_scale_up
from hub.domain.cycle import leaving
from hub.domain.cycle.sizes import demand_at, sized
from hub.domain.cycle.snapshot import Nomination
from hub.domain.cycle.taken import Needs, Taken, exactly_on, on_nodes, promise, take, take_on
from hub.domain.fleet.clusters import IntArray
from hub.domain.fleet.free_capacity import NodeAsk, Room
from hub.domain.fleet.node_layout import same_pods
from hub.domain.placement.cluster_search import ClusterSearch, NoChoice
from hub.domain.placement.picking.choice import Choice
from hub.domain.placement.picking.picker import in_new_nodes
from hub.domain.plan import Assignment, Placement, Reason, Score
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, Pods
from hub.domain.workloads.demand import Demand
from shared.resources import PodSet


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
        self._clusters = search.clusters
        self._taken: dict[str, Taken] = {}  # by uid
        self._claims: dict[str, int] = {}  # uid → cluster
        # By demand, assignment and cluster: of equals, which stand as one among what was taken.
        self._beside: dict[tuple[str, int, int], Taken] = {}
        self._opened: Mapping[str, int] = {}  # nodes that the last look would have added, by pool
        self.choices: dict[str, Choice] = {}
        self.refusals: dict[str, NoChoice] = {}
        self.faults: list[str] = []  # claims that can not be judged: nothing is kept for them
        for uid, nomination in sorted(nominations.items()):
            at = room.layout.position.get(nomination.cluster)
            if at is not None:
                self._claim_again(uid, at, nomination)

    def _claim_again(self, uid: str, at: int, nomination: Nomination) -> None:
        try:
            needs = self._needs_of(nomination.pods)
            self._claim(uid, at, needs, nomination.leaving, nomination.nodes)
        except Exception as fault:  # noqa: BLE001 - one unusable claim must not stop the cycle
            self.faults.append(f"claim of {uid}: {type(fault).__name__}: {fault}"[:500])

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
        )  # no victim is evicted for a mere chance
        if who.uid not in self._claims and holds(demand, asks):
            return True
        allowed = self._search.allowed(demand)
        needs = self._needs(pod_sets, asks)
        going = self._by_cluster(gone)
        open_ = [at for at in self._open(who.uid, going) if allowed[at]]
        return any(self._fits(who.uid, at, needs, going.get(at, ())) for at in open_)

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
            if not self._search.allowed(demand)[at]:
                return None
            there = on_nodes(self._room, needs, at, self._taken[who.uid].nodes)
            if there is None or not self._fits(who.uid, at, there, ()):
                there = None
                if not self._fits(who.uid, at, needs, ()):
                    return None
            opened = self._opened
            score = self._standing(who.uid, demand, assignment.asks)
            name = self._room.layout.names[at]
            choice = Choice(name, (in_new_nodes(score, opened),), (), 0)
            self._settle_claim(who.uid, needs, there=there is not None)
        self.choices[who.uid] = choice
        return choice.cluster

    def note_beside(self, placement: Placement, pod_sets: Sequence[PodSet]) -> None:
        """It was placed beside these rounds: what it took is taken again as well."""
        at, given = self._room.layout.position.get(placement.cluster), placement.assignment
        if at is None:
            return  # it takes quota only
        key = (placement.demand, id(given), at)
        found = self._beside.get(key)
        if found is None:
            needs = self._needs(sized(pod_sets, given), given.asks)
            found = self._beside[key] = self._taken[placement.uid] = Taken(at, needs, times=0)
        found.times += 1

    def kept_nodes(self, uid: str) -> tuple[str, ...]:
        """Names of the nodes on which room is kept for it, also once it has been placed."""
        taken = self._taken.get(uid)
        return () if taken is None else taken.nodes

    def _standing(self, uid: str, demand: Demand, asks: tuple[NodeAsk, ...]) -> Score:
        """The state of the claimed cluster, without the room that is kept for the claim itself."""
        taken = self._taken[uid]
        assert taken.kept is not None
        self._room.keep(-taken.kept, taken.at)
        score = self._search.standing(demand, asks, taken.at)
        self._room.keep(taken.kept, taken.at)
        return score

    def _settle_claim(self, uid: str, needs: Needs, *, there: bool) -> None:
        """It is placed: its room stays taken, where it was kept or (not `there`) elsewhere in the cluster."""
        del self._claims[uid]
        taken = self._taken[uid]
        if there or not taken.nodes or taken.kept is None:
            return
        self._room.keep(-taken.kept, taken.at)
        promise(self._room, needs, taken.at)
        self._taken[uid] = Taken(taken.at, needs)

    def claim(
        self, who: PendingWorkload, assignment: Assignment, gone: Sequence[AdmittedWorkload]
    ) -> str | None:
        """The best cluster that can hold all of it once `gone` are; its room is kept for it."""
        pod_sets = sized(who.pod_sets, assignment)
        needs = self._needs(pod_sets, assignment.asks)
        if who.uid in self._claims:
            return self._claimed_again(who.uid, needs, gone)
        demand = demand_at(who, pod_sets)
        fitting = self._fitting(who.uid, demand, needs, gone)
        if self.grows and any(ask.growing for ask in assignment.asks):  # real room goes first
            there = self._needs(pod_sets, assign_with_scale_up.there(assignment.asks))
            fitting = self._fitting(who.uid, demand, there, gone) or fitting
        if not fitting:
            return None
        best = self._search.best_of(demand, assignment.asks, fitting, who.uid)
        self._claim(who.uid, best, needs, gone)
        return self._room.layout.names[best]

    def _claimed_again(
        self, uid: str, needs: Needs, gone: Sequence[AdmittedWorkload]
    ) -> str | None:
        """The cluster that it has a claim to; None where it asks for more pods by now than that can hold."""
        at, taken = self._claims[uid], self._taken[uid]
        name = self._room.layout.names[at]
        if same_pods(needs, taken.needs):
            return name
        going = {h.uid: h for h in (*taken.counts_on, *gone) if h.cluster == name}
        return name if self._fits(uid, at, needs, list(going.values())) else None

    def _fitting(
        self, uid: str, demand: Demand, needs: Needs, gone: Sequence[AdmittedWorkload]
    ) -> list[int]:
        """The clusters that can hold it once `gone` are: those of `gone`, else any."""
        allowed = self._search.allowed(demand)
        going = self._by_cluster(gone)
        every = [at for at in range(len(self._room.layout.names)) if allowed[at]]
        open_ = [at for at in self._open(uid, going) if allowed[at]]
        left = [at for at in open_ if self._fits(uid, at, needs, going.get(at, ()))]
        return left or [at for at in every if self._fits(uid, at, needs, ())]

    def explain(
        self, who: PendingWorkload, pod_sets: Sequence[PodSet], asks: tuple[NodeAsk, ...]
    ) -> tuple[Reason, str]:
        """The reason why no cluster holds it, and the nearest misses."""
        none = self._search.explain(demand_at(who, pod_sets), asks)
        self.refusals[who.uid] = none
        return none.reason, none.message

    def leaving_for(self, who: PendingWorkload) -> Sequence[AdmittedWorkload]:
        """Victims that still leave the cluster whose room is kept for it."""
        return self._taken[who.uid].counts_on if who.uid in self._claims else ()

    def is_kept(
        self, who: PendingWorkload, pod_sets: Sequence[PodSet], asks: tuple[NodeAsk, ...]
    ) -> bool:
        """Is room for just these pods kept for it, free already or not, where it may still go?"""
        at = self._claims.get(who.uid)
        may = at is not None and self._search.allowed(demand_at(who, pod_sets))[at]
        return bool(may) and same_pods(self._needs(pod_sets, asks), self._taken[who.uid].needs)

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
        nodes: Sequence[str] = (),
    ) -> bool:
        """Can this cluster hold all pods once `gone` are? `nodes`: on just these, where there are any."""
        at = self._room.layout.position[cluster]
        there = exactly_on(self._room, self._needs(pod_sets, asks), at, nodes)
        return there is not None and self._fits(who.uid, at, there, gone)

    def hosts(self, holder: AdmittedWorkload) -> Sequence[int]:
        """Numbers of the nodes of its cluster with its pods; () if unknown."""
        return leaving.hosts(self._clusters, holder)

    def stand(
        self,
        uid: str,
        needs: Needs,
        cluster: str,
        *,
        nodes: Sequence[str] = (),
        certainly: bool = False,
    ) -> bool:
        """Take room on this cluster, as it was decided; False where it does not fit.

        `nodes`: those on which it was kept. `certainly`: also where it does not fit.
        """
        at = self._room.layout.position[cluster]
        if self._claims.get(uid) == at:
            there = exactly_on(self._room, needs, at, nodes)
            if not certainly and (there is None or not self._fits(uid, at, there, ())):
                return False
            self._settle_claim(uid, needs, there=bool(nodes))
            return True
        if not self._room.take_all(needs, at):
            if not certainly:
                return False
            promise(self._room, needs, at)
        self._taken[uid] = Taken(at, needs)
        return True

    def keep(
        self,
        who: PendingWorkload,
        assignment: Assignment,
        cluster: str,
        gone: Sequence[AdmittedWorkload],
        nodes: Sequence[str] = (),
    ) -> None:
        """Keep room of this cluster for it, as it was decided: it fits on `nodes` once `gone` are."""
        if who.uid not in self._claims:
            needs = self._needs(sized(who.pod_sets, assignment), assignment.asks)
            self._claim(who.uid, self._room.layout.position[cluster], needs, gone, nodes)

    def _by_cluster(self, gone: Iterable[AdmittedWorkload]) -> dict[int, list[AdmittedWorkload]]:
        found: dict[int, list[AdmittedWorkload]] = {}
        for holder in gone:
            at = self._room.layout.position.get(self.stands_on(holder))
            if at is not None:
                found.setdefault(at, []).append(holder)
        return found

    def _open(self, uid: str, going: Mapping[int, Sequence[AdmittedWorkload]]) -> list[int]:
        """Further clusters to try: the claimed one, else those that a workload is leaving."""
        return [self._claims[uid]] if uid in self._claims else sorted(going)

    def _fits(self, uid: str, at: int, needs: Needs, going: Sequence[AdmittedWorkload]) -> bool:
        """Can cluster `at` hold it, once those who leave that cluster are gone?"""
        room = self._room
        with room.trial(at):
            if going or uid in self._claims:
                self._lay_out_anew(uid, going, at)
            if room.growth is None:
                return take(room, needs, at)
            room.growth.opened.clear()
            fits = take(room, needs, at)
            self._opened = room.growth.opened
            return fits

    def _lay_out_anew(self, uid: str, going: Sequence[AdmittedWorkload], at: int) -> None:
        """Make cluster `at` what it were without the claim of `uid` and without those who leave.

        Other claims take the room of their own victims, and of the rest only the remaining shortage.
        """
        room = self._room
        room.set_back(at, self._before)
        self._give_back(going, at)
        away = {uid, *(h.uid for h in going)}
        others = [t for other, t in self._taken.items() if t.at == at and other not in away]
        counted_on = {h.uid: h for t in others for h in t.counts_on if h.uid not in away}
        early = self._freed(counted_on.values(), at) if counted_on else None
        for taken in others:
            if taken.kept is None:
                promise(room, taken.needs, at, taken.times)
                continue
            room.keep(taken.kept, at)
            if early is not None:
                early -= taken.kept
        if early is not None:  # the remainder belongs to no claim, and is not free yet
            room.keep(np.maximum(early, 0), at)

    def _freed(self, going: Iterable[AdmittedWorkload], at: int) -> IntArray:
        """Give back what these leave; how much that is, as of `Room.nodes_of`."""
        before = self._room.nodes_of(at).copy()
        self._give_back(going, at)
        freed: IntArray = self._room.nodes_of(at) - before
        return freed

    def _give_back(self, going: Iterable[AdmittedWorkload], at: int) -> None:
        for holder in going:
            if holder.uid not in self._taken:  # it was there before the cycle
                leaving.give_back(self._room, self._clusters, holder, at)

    def _claim(
        self,
        uid: str,
        at: int,
        needs: Needs,
        gone: Sequence[AdmittedWorkload],
        nodes: Sequence[str] = (),
    ) -> None:
        """Keep the nodes on which it will fit: what is free of them, and what becomes free.

        `nodes`: those that were named before; others only where it does not fit there any more.
        """
        name = self._room.layout.names[at]
        room = self._room
        counts_on = [h for h in gone if h.cluster == name]
        with room.trial(at):
            self._give_back(counts_on, at)
            before = room.nodes_of(at).copy()
            if not take_on(room, needs, at, nodes):
                self._lay_out_anew(uid, counts_on, at)
                before = room.nodes_of(at).copy()
                if not take_on(room, needs, at, nodes):
                    promise(room, needs, at)
            kept = before - room.nodes_of(at)
        there = room.layout.numbers(at).items()
        named = tuple(node for node, number in there if kept[:, number].any())
        self._claims[uid] = at
        self._taken[uid] = Taken(at, needs, kept, counts_on, named)
        self._room.keep(kept, at)

    def _needs(self, pod_sets: Sequence[PodSet], asks: Sequence[NodeAsk]) -> Needs:
        pairs = zip(pod_sets, asks, strict=True)
        return self._needs_of(tuple((p.requests, ask, p.count) for p, ask in pairs))

    def _needs_of(self, pods: Pods) -> Needs:
        need = self._room.layout.need
        return tuple((need(requests, ask), count) for requests, ask, count in pods)

"""Nominates one head: flavors, victims, fewer pods if all do not fit."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial as partial_of
from typing import NamedTuple, Protocol

from hub.domain.admission import assign_with_scale_up, partial_admission
from hub.domain.admission.flavor_assigner import CanHold, Mode, Outlook, Request, Search, Tried
from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.plan import Assignment, Reason
from hub.domain.preemption import classical, for_capacity, on_one_node
from hub.domain.preemption.fair import DEFAULT_STRATEGIES, find_fair_victims
from hub.domain.preemption.search import Cause, Contest, PreemptionLimits, Victim
from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.queue_policy import NEVER
from shared.resources import PodSet


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings of the decisions of a cycle. An absent setting is off, as in Kueue's own configuration."""

    fair: bool = False
    strategies: tuple[str, ...] = DEFAULT_STRATEGIES
    partial: bool = False
    block_admission: bool = False  # waitForPodsReady.blockAdmission
    excluded: tuple[str, ...] = ()  # resources.excludeResourcePrefixes
    ignore_undeclared: bool = False  # resources.quotaCheckStrategy: IgnoreUndeclared
    for_room: bool = False  # lower priorities go where quota fits and no cluster has the room
    preemptors_first: bool = True  # who waits for its victims goes first in each round
    limits: PreemptionLimits = field(default_factory=PreemptionLimits)


class Fleet(for_capacity.Capacity, Protocol):
    """The fleet below quota. `gone` are holders whose room counts as free."""

    @property
    def grows(self) -> bool:
        """May any pool still add a node?"""
        ...

    def can_hold(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        asks: tuple[NodeAsk, ...],
        gone: Sequence[AdmittedWorkload] = (),
    ) -> bool: ...

    def place(self, who: PendingWorkload, assignment: Assignment) -> str | None:
        """Take room on the best cluster that can hold all of it; its name."""
        ...

    def claim(
        self, who: PendingWorkload, assignment: Assignment, gone: Sequence[AdmittedWorkload]
    ) -> str | None:
        """The best cluster that can hold all of it once `gone` are; its room is kept for it."""
        ...

    def leaving_for(self, who: PendingWorkload) -> Sequence[AdmittedWorkload]:
        """Victims that still leave the cluster whose room is kept for it."""
        ...

    def is_kept(
        self, who: PendingWorkload, pod_sets: Sequence[PodSet], asks: tuple[NodeAsk, ...]
    ) -> bool:
        """Is room for just these pods kept for it, free already or not?"""
        ...

    def explain(
        self, who: PendingWorkload, pod_sets: Sequence[PodSet], asks: tuple[NodeAsk, ...]
    ) -> tuple[Reason, str]: ...


class Nominee(NamedTuple):
    """A possible assignment of a head, and its cost.

    `beyond`: how many victims it takes, where the budget is less. `awaits_room`: all victims are gone,
    and its cluster has not reported the room yet.
    """

    search: Search
    victims: tuple[Victim, ...] = ()
    beyond: int = 0
    awaits_room: bool = False


class Nominator:
    """Looks for flavors and victims on one state of quota."""

    def __init__(
        self,
        quota_state: QuotaState,
        catalog: FlavorCatalog,
        rules: Rules,
        fleet: Fleet | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._quota_state = quota_state
        self._catalog = catalog
        self._rules = rules
        self._fleet = fleet
        self._foreseen: tuple[Usage, list[Victim]] = {}, []  # the last answer of `_foresee`
        self.now = rules.limits.now
        self.preempted: Mapping[str, Collection[str]] = {}  # uid → its victims until now
        self._groups = groups or {}  # uid → name of the pod-set group of each pod set

    def nominate(
        self,
        who: PendingWorkload,
        tried: Tried = (),
        keep: Assignment | None = None,
        gone: Sequence[AdmittedWorkload] = (),
    ) -> Nominee:
        """Full size if it fits or may preempt, else the most pods that do, else why not.

        With `keep` the search considers only the flavors of that assignment. The room of `gone`,
        whose quota is released already, counts as free.
        """
        full = self._at_size(who, who.pod_sets, tried, keep, gone)
        if full.victims or full.search.mode is Mode.FIT:
            return full
        if self._rules.partial and partial_admission.may_shrink(who.pod_sets):

            def admissible(counts: tuple[int, ...]) -> Nominee | None:
                reduced = tuple(
                    replace(p, count=n) for p, n in zip(who.pod_sets, counts, strict=True)
                )
                found = self._at_size(who, reduced, tried, keep, gone)
                if not found.victims and found.search.mode is not Mode.FIT:
                    return None
                assert found.search.assignment is not None
                fewer = replace(found.search.assignment, reduced=reduced != who.pod_sets)
                return found._replace(search=replace(found.search, assignment=fewer))

            fewer = partial_admission.largest(who.pod_sets, admissible)
            if fewer is not None:
                return fewer
        return self._with_those_beyond_budget(who, full)

    def _with_those_beyond_budget(self, who: PendingWorkload, found: Nominee) -> Nominee:
        limits, assignment = self._limits(who), found.search.assignment
        if limits.budget is None or assignment is None:
            return found
        limits = replace(limits, budget=None)
        contest = Contest(
            self._quota_state, who, assignment.charge, found.search.contested, limits
        )
        victims = limits.told.union(v.holder.uid for v in self._find(contest))
        return found._replace(beyond=len(victims))

    def may_change(self, who: PendingWorkload, found: Search) -> bool:
        """Might a refused workload be given something now? Necessary, not sufficient, and cheap.

        It must fit some flavor that was short, or there must be someone to preempt.
        """
        quota_state, short = self._quota_state, found.shortages
        queue, node = quota_state.queues[who.queue], quota_state.node(who.queue)
        many = len(who.pod_sets) > 1 or len(queue.groups) > 1
        if many or not short or found.asks or self._fleet is not None:
            return True
        if self._rules.partial and partial_admission.may_shrink(who.pod_sets):
            return True
        policy = quota_state.policies[who.queue]
        if found.mode is Mode.NO_CANDIDATES and policy.reclaim != "Any":
            return True  # its turn also keeps capacity from borrowers
        missing = [(s.of, s.asked - quota_state.tree.available(node, s.of)) for s in short]
        return any(lack <= 0 for _, lack in missing) or any(
            lack <= self._most_gained(who, of) for of, lack in missing
        )

    def _most_gained(self, who: PendingWorkload, of: FlavorResource) -> int:
        """No preemption frees more than this: all its own candidates, and of other queues what they
        hold beyond their quota, with one workload more.
        """
        quota_state, fair = self._quota_state, self._rules.fair
        policy, node = quota_state.policies[who.queue], quota_state.node(who.queue)
        least = self._rules.limits.minimum_runtime
        ripe = self.now - least if least else None
        holders = quota_state.queue_holders
        gained = 0
        if policy.within != NEVER:
            gained += holders(who.queue).sums(of, who.priority + 1, ripe)[0]
        if policy.reclaim == NEVER or node.parent is None:
            return gained
        below = who.priority if policy.reclaim == "LowerPriority" else None
        tree, root = quota_state.tree, node.root()
        for queue in root.queues() if fair else tree.over(root, of):
            if queue is not node and queue.name not in quota_state.inactive:
                beyond = tree.used_of(queue, of) - queue.subtree.get(of, 0)
                total, largest = holders(queue.name).sums(of, below, ripe)
                gained += total if fair else min(total, beyond + largest)
        return gained

    def _limits(self, who: PendingWorkload) -> PreemptionLimits:
        limits = self._rules.limits
        told = self.preempted.get(who.uid)
        if told and limits.budget is not None:
            limits = replace(limits, told=frozenset(told))
        return replace(limits, now=self.now) if limits.minimum_runtime else limits

    def _at_size(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        tried: Tried,
        keep: Assignment | None,
        gone: Sequence[AdmittedWorkload],
    ) -> Nominee:
        found = self._search(who, pod_sets, tried, keep, gone)
        if found.asks is not None and self._fleet is not None:  # only clusters were missing
            nominee = self._wait_for_room(who, pod_sets, tried, keep)
            if nominee is None and self._rules.for_room:
                nominee = self._make_room(who, pod_sets, tried, keep)
            if nominee is not None:
                return nominee
            reason, message = self._fleet.explain(who, pod_sets, found.asks)
            return Nominee(replace(found, reason=reason, message=message))
        if found.assignment is None or found.mode is Mode.FIT:
            return Nominee(found)
        assignment = found.assignment
        usage, foreseen = self._foreseen
        if assignment.charge == usage and (self._fleet_of(who) is None or not foreseen):
            return Nominee(found, tuple(foreseen))  # asked of the same request a moment ago
        fleet = self._fleet_of(who)
        has_room = None
        if fleet is not None:

            def has_room(more: Sequence[AdmittedWorkload]) -> bool:
                return fleet.can_hold(who, pod_sets, assignment.asks, [*gone, *more])

        victims = self._victims(who, assignment.charge, found.contested, has_room)
        return Nominee(found, tuple(victims))

    def _wait_for_room(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        tried: Tried,
        keep: Assignment | None,
    ) -> Nominee | None:
        """Its victims that already leave suffice: it has the quota, and waits for the room.

        That is so until the room is reported, or the claim to it ends: a victim that is gone may still be in
        the report.
        """
        fleet = self._fleet
        assert fleet is not None
        if not fleet.has_claim(who):
            return None
        is_kept = partial_of(fleet.is_kept, who, pod_sets)
        found = self._search(who, pod_sets, tried, keep, can_hold=is_kept)
        if found.mode is not Mode.FIT:
            return None
        leaving = fleet.leaving_for(who)
        victims = tuple(Victim(holder, Cause.FOR_ROOM) for holder in leaving)
        message = "quota fits, and its cluster does not have the room yet"
        search = replace(found, mode=Mode.PREEMPT, message=message)
        return Nominee(search, victims, awaits_room=not leaving)

    def _make_room(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        tried: Tried,
        keep: Assignment | None,
    ) -> Nominee | None:
        """Flavors whose nodes would hold it once lower priorities are gone, and who would go."""
        fleet, limits = self._fleet, self._limits(who)
        assert fleet is not None
        those = for_capacity.candidates(self._quota_state, who, limits, fleet)
        gone = [holder for on_one in those.values() for holder in on_one]
        found = self._search(who, pod_sets, tried, keep, gone) if gone else None
        if found is None or found.mode is not Mode.FIT or found.assignment is None:
            return None
        wanted = for_capacity.Wanted(who, pod_sets, found.assignment.asks)
        victims = for_capacity.find(wanted, those, limits, fleet)
        if not victims:
            return None
        message = "quota fits and no cluster has the room"
        return Nominee(replace(found, mode=Mode.PREEMPT, message=message), tuple(victims))

    def _search(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        tried: Tried,
        keep: Assignment | None,
        gone: Sequence[AdmittedWorkload] = (),
        can_hold: CanHold | None = None,
    ) -> Search:
        """Flavors with the quota, of which `can_hold` (by default some cluster) says that pods would fit."""
        quota_state, fleet = self._quota_state, self._fleet_of(who)
        whole = can_hold is None
        if fleet is not None and can_hold is None:
            can_hold = partial_of(fleet.can_hold, who, pod_sets)
            if gone:
                can_hold = partial_of(can_hold, gone=gone)
        return assign_with_scale_up.search(
            Request(
                pod_sets=pod_sets,
                queue=quota_state.queues[who.queue],
                policy=quota_state.policies[who.queue],
                catalog=self._catalog,
                tree=quota_state.tree,
                node=quota_state.node(who.queue),
                oracle=lambda of, amount: self._foresee(who, of, amount),
                fair=self._rules.fair,
                can_hold=can_hold,
                resume=tried,
                keep=tuple(dict(p.flavors) for p in keep.pod_sets) if keep else (),
                groups=self._groups.get(who.uid, ()),
                excluded=self._rules.excluded,
                ignore_undeclared=self._rules.ignore_undeclared,
            ),
            grows=fleet is not None and fleet.grows and not gone and whole,
        )

    def _fleet_of(self, who: PendingWorkload) -> Fleet | None:
        """The fleet, where it matters to a workload."""
        return None if who.quota_only else self._fleet

    def _foresee(self, who: PendingWorkload, of: FlavorResource, amount: int) -> Outlook:
        """The result of preemption for this one flavor and resource."""
        tree, node = self._quota_state.tree, self._quota_state.node(who.queue)
        victims: list[Victim] = []
        if amount <= tree.available(node, of) + self._most_gained(who, of):
            victims = self._victims(who, {of: amount}, frozenset({of}))
        self._foreseen = {of: amount}, victims
        if not victims:
            return Outlook(Mode.NO_CANDIDATES, tree.level(node, of, amount)[0])
        with self._quota_state.without([v.holder for v in victims]):
            level = tree.level(node, of, amount)[0]
        own = any(v.holder.queue == who.queue for v in victims)
        return Outlook(Mode.PREEMPT if own else Mode.RECLAIM, level)

    def _victims(
        self,
        who: PendingWorkload,
        usage: Usage,
        contested: frozenset[FlavorResource],
        has_room: Callable[[Sequence[AdmittedWorkload]], bool] | None = None,
    ) -> list[Victim]:
        limits = self._limits(who)
        return self._find(Contest(self._quota_state, who, usage, contested, limits, has_room))

    def _find(self, contest: Contest) -> list[Victim]:
        if self._rules.fair:
            return find_fair_victims(contest, self._rules.strategies)
        victims = classical.find_victims(contest)
        if contest.has_room is None or self._fleet is None:
            return victims
        return on_one_node.fewer(contest, victims, self._fleet)

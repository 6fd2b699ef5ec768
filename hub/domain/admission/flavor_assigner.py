"""Flavors under a cohort's quota: fit, borrow or preempt, in the queue's order, as Kueue's flavorassigner.

Per resource group the flavors are tried from a remembered index. A flavor's mode is the worst over
its resources; the queue's flavorFungibility says when the search stops and which of those seen is
best. With clusters, a flavor fits only where some cluster can still hold all pod sets.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from hub.domain.admission import without_pods
from hub.domain.admission.flavors import FlavorCatalog, distinct, mismatch_of
from hub.domain.admission.shortages import no_preemption_while_borrowing, shortage
from hub.domain.fleet.free_capacity import PODS, NodeAsk
from hub.domain.plan import SEVERITY, Assignment, PodSetAssignment, Reason, Shortage
from hub.domain.quota.declared import ClusterQueue, Flavor, FlavorResource, ResourceGroup
from hub.domain.quota.queue_policy import NEVER, QueuePolicy
from hub.domain.quota.tree import Node, QuotaTree
from shared.resources import PodSet


class Mode(IntEnum):
    """Ways to meet a request; a higher value is better."""

    NO_FIT = 0
    NO_CANDIDATES = 1  # preemption might help, but there is no victim
    PREEMPT = 2  # at the cost of its own queue
    RECLAIM = 3  # at the cost of other queues only
    FIT = 4


class Outlook(NamedTuple):
    """A mode and the borrowing level it comes with (0: inside the own nominal quota)."""

    mode: Mode
    level: int


Oracle = Callable[[FlavorResource, int], Outlook]
CanHold = Callable[[tuple[NodeAsk, ...]], bool]
Tried = tuple[
    Mapping[str, int], ...
]  # per pod set and resource: last flavor tried, -1 the last of all

_BEST: Final = Outlook(Mode.FIT, 0)
_WORST: Final = Outlook(Mode.NO_FIT, 1 << 30)


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """The request, its queue, and the inputs of the search.

    `groups` names the pod-set group of each pod set ("" none): its pod sets get one flavor.
    """

    pod_sets: Sequence[PodSet]
    queue: ClusterQueue
    policy: QueuePolicy
    catalog: FlavorCatalog
    tree: QuotaTree
    node: Node
    oracle: Oracle
    fair: bool = False
    can_hold: CanHold | None = None
    resume: Tried = ()
    keep: tuple[Mapping[str, str], ...] = ()  # per pod set and resource: the only flavor looked at
    groups: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()  # prefixes of resources that are not counted
    ignore_undeclared: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The result of a search. `assignment` is None if some pod set has no flavor at all."""

    mode: Mode
    assignment: Assignment | None = None
    borrowing: int = 0
    contested: frozenset[FlavorResource] = frozenset()
    tried: Tried = ()
    reason: Reason = Reason.WAITING_FOR_QUOTA
    message: str = ""
    shortages: tuple[Shortage, ...] = ()
    asks: tuple[NodeAsk, ...] | None = None  # where only clusters were missing

    @property
    def untried_flavors(self) -> bool:
        """Did the search stop before the last flavor of some group?"""
        return any(index != -1 for tried in self.tried for index in tried.values())


class _Miss(NamedTuple):
    reason: Reason
    message: str
    shortages: tuple[Shortage, ...] = ()
    asks: tuple[NodeAsk, ...] | None = None


class _Pick(NamedTuple):
    """The flavor chosen for a group's resources."""

    flavor: Flavor
    outlook: Outlook
    outlooks: Mapping[str, Outlook]  # by resource
    tried: int


def search(request: Request) -> Search:
    """Flavors for all pod sets: fit, at the cost of others, or the reason that weighs most."""
    return _Searching(request).run()


@dataclass(slots=True)
class _Draft:
    """One pod set: what it asks, the flavor of each resource, what was tried."""

    asked: dict[str, int]
    flavors: dict[str, Flavor] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)


class _Searching:
    def __init__(self, request: Request) -> None:
        self._request = request
        self._charge: dict[FlavorResource, int] = {}
        self._contested: set[FlavorResource] = set()
        self._worst = Mode.FIT
        self._borrowing = 0
        self._misses: list[_Miss] = []
        self._why: list[_Miss] = []  # of flavors that would need preemption
        self._asks: list[NodeAsk] = []  # without clusters they are not needed before the end
        if request.can_hold is not None:
            self._asks = [request.catalog.ask(p) for p in request.pod_sets]
        self._drafts = [_Draft(self._asked(p)) for p in request.pod_sets]

    def run(self) -> Search:
        failed_at: int | None = None
        for members in self._units():
            self._assign(members)
            if self._misses:  # the first pod set that has no flavor says why
                failed_at = members[0]
                break
        tried = tuple(d.tried for d in self._drafts[:failed_at])
        if self._misses:
            worst = max(self._misses, key=lambda m: SEVERITY[m.reason])
            return Search(
                Mode.NO_FIT, tried=tried, reason=worst.reason, message=worst.message,
                shortages=worst.shortages, asks=worst.asks,
            )  # fmt: skip
        asks = tuple(self._asks or map(self._ask, range(len(self._drafts))))
        assigned = Assignment(tuple(map(self._pod_set, range(len(asks)))), self._charge, asks)
        if self._worst is Mode.FIT:
            can_hold = self._request.can_hold
            if can_hold is not None and not can_hold(asks):  # where nothing asked is counted
                message = "no cluster can hold it now"
                reason = Reason.NO_CLUSTER_FITS
                return Search(Mode.NO_FIT, tried=tried, reason=reason, message=message, asks=asks)
            return Search(Mode.FIT, assigned, self._borrowing, tried=tried)
        return Search(
            self._worst, assigned, self._borrowing, frozenset(self._contested), tried,
            message="; ".join(dict.fromkeys(m.message for m in self._why)),
            shortages=tuple(s for m in self._why for s in m.shortages),
        )  # fmt: skip

    def _units(self) -> list[list[int]]:
        """Pod sets that must share flavors, in order."""
        units: dict[str, list[int]] = {}
        groups = self._request.groups
        for index in range(len(self._request.pod_sets)):
            name = groups[index] if index < len(groups) and groups[index] else f"\0{index}"
            units.setdefault(name, []).append(index)
        return list(units.values())

    def _asked(self, pod_set: PodSet) -> dict[str, int]:
        request = self._request
        asked = {
            r: amount
            for r, amount in pod_set.total().items()
            if not r.startswith(request.excluded or "\0")
        }
        if request.queue.group_of(PODS):
            asked[PODS] = pod_set.count
        for resource in list(asked):
            if request.queue.group_of(resource) is None and (
                request.ignore_undeclared or not asked[resource]
            ):
                del asked[resource]
        return asked

    def _assign(self, members: list[int]) -> None:
        asked: dict[str, int] = {}
        for index in members:
            for resource, amount in self._drafts[index].asked.items():
                asked[resource] = asked.get(resource, 0) + amount
        done: set[str] = set()
        for resource in sorted(asked):
            group = self._request.queue.group_of(resource)
            if group is None:
                name = self._request.pod_sets[members[0]].name
                message = f"ClusterQueue {self._request.queue.name} has no quota for {resource}"
                self._misses.append(_Miss(Reason.NO_MATCHING_FLAVOR, _join(name, [message])))
            elif resource not in done:
                amounts = {r: a for r, a in asked.items() if r in group.covered}
                done |= amounts.keys()
                pick = self._choose(members, group, resource, amounts)
                if pick is not None:
                    self._book(members, amounts, pick)

    def _book(self, members: list[int], amounts: Mapping[str, int], pick: _Pick) -> None:
        for resource, amount in amounts.items():
            if not amount:  # what is nothing is neither charged nor contested
                continue
            of = FlavorResource(pick.flavor.name, resource)
            self._charge[of] = self._charge.get(of, 0) + amount
            if pick.outlooks[resource].mode is not Mode.FIT:
                self._contested.add(of)
        for index in members:
            draft = self._drafts[index]
            for resource in draft.asked.keys() & amounts.keys():
                draft.flavors[resource] = pick.flavor
                draft.tried[resource] = pick.tried
            if self._asks:
                self._asks[index] = self._ask(index)
        self._worst = min(self._worst, pick.outlook.mode)
        self._borrowing = max(self._borrowing, *(o.level for o in pick.outlooks.values()))

    def _ask(self, index: int) -> NodeAsk:
        chosen = distinct(self._drafts[index].flavors.values())
        return self._request.catalog.ask(self._request.pod_sets[index], chosen)

    def _choose(
        self, members: list[int], group: ResourceGroup, resource: str, amounts: Mapping[str, int]
    ) -> _Pick | None:
        """Walk the flavors; None, with the reason noted, where none will do."""
        request = self._request
        best: _Pick | None = None
        crowded: _Pick | None = None  # of pod sets without pods: has no room for one
        misses: list[_Miss] = []
        last = len(group.flavors) - 1
        index = self._first(members[0], resource)
        for index in range(index, len(group.flavors)):  # noqa: B020 - the last index tried is needed
            if not self._may_use(members, group.flavors[index], resource):
                continue
            flavor, outlook, outlooks, why = self._try(members, group.flavors[index], amounts)
            if why is not None:
                misses.append(why)
            if flavor is None or outlook.mode is Mode.NO_FIT:
                continue
            pick = _Pick(flavor, outlook, outlooks, index)
            if not any(amounts.values()) and not self._has_room(members, flavor.name, amounts):
                crowded = crowded or pick
                continue
            if self._stops_at(outlook):
                best = pick
                break
            if best is None or prefers(outlook, best.outlook, request.policy.preference):
                best = pick
        best = best or crowded
        if best is None:
            self._misses.append(_least(request.pod_sets[members[0]].name, misses))
            return None
        if best.outlook.mode is not Mode.FIT:
            self._why.append(_least(request.pod_sets[members[0]].name, misses))
        return best._replace(tried=-1 if index >= last else index)

    def _has_room(self, members: list[int], name: str, amounts: Mapping[str, int]) -> bool:
        request = self._request
        room = {r: request.tree.available(request.node, FlavorResource(name, r)) for r in amounts}
        taken = {r: self._charge.get(FlavorResource(name, r), 0) for r in amounts}
        return without_pods.has_room_for_one([request.pod_sets[i] for i in members], room, taken)

    def _may_use(self, members: list[int], name: str, resource: str) -> bool:
        keep = self._request.keep
        return not keep or any(keep[index].get(resource) == name for index in members)

    def _first(self, index: int, resource: str) -> int:
        resume = self._request.resume
        return resume[index].get(resource, -1) + 1 if index < len(resume) else 0

    def _stops_at(self, outlook: Outlook) -> bool:
        if outlook.mode in {Mode.NO_FIT, Mode.NO_CANDIDATES}:
            return False
        return not self._request.policy.tries_next(
            borrows=outlook.level > 0, preempts=outlook.mode is not Mode.FIT
        )

    def _try(
        self, members: list[int], name: str, amounts: Mapping[str, int]
    ) -> tuple[Flavor | None, Outlook, dict[str, Outlook], _Miss | None]:
        flavor = self._request.catalog.flavors.get(name)
        if flavor is None:
            missing = _Miss(Reason.NO_MATCHING_FLAVOR, f"flavor {name} does not exist")
            return None, _WORST, {}, missing
        for index in members:
            mismatch = mismatch_of(self._request.pod_sets[index], flavor)
            if mismatch:
                return None, _WORST, {}, _Miss(Reason.NO_MATCHING_FLAVOR, mismatch)
        outlook, outlooks, why = self._outlook_of(name, amounts)
        if outlook.mode is Mode.FIT and self._request.can_hold is not None:
            asks = list(self._asks)
            for index in members:
                chosen = distinct([*self._drafts[index].flavors.values(), flavor])
                asks[index] = self._request.catalog.ask(self._request.pod_sets[index], chosen)
            if not self._request.can_hold(tuple(asks)):
                message = f"flavor {name}: no cluster can hold it now"
                return None, _WORST, {}, _Miss(Reason.NO_CLUSTER_FITS, message, (), tuple(asks))
        return flavor, outlook, outlooks, why

    def _outlook_of(
        self, name: str, amounts: Mapping[str, int]
    ) -> tuple[Outlook, dict[str, Outlook], _Miss | None]:
        """The worst outlook over a flavor's resources, each of them, and what is short."""
        worst, node = _BEST, self._request.node
        outlooks: dict[str, Outlook] = {}
        shortages: list[Shortage] = []
        for resource, amount in sorted(amounts.items()):
            of = FlavorResource(name, resource)
            asked = self._charge.get(of, 0) + amount
            outlook = self._outlook(of, asked)
            outlooks[resource] = outlook
            if prefers(worst, outlook, self._request.policy.preference):
                worst = outlook
            if outlook.mode is not Mode.FIT:
                shortages.append(shortage(self._request.tree, node, of, asked))
        if not shortages:
            return worst, outlooks, None
        beyond = [
            s for s in shortages if s.is_beyond
        ]  # what others use of the rest does not matter
        exceeds, shortages = bool(beyond), beyond or shortages
        reason = Reason.EXCEEDS_MAX_QUOTA if exceeds else Reason.WAITING_FOR_QUOTA
        words = "more than the queue can ever have" if exceeds else "insufficient unused quota"
        said = [str(s) for s in shortages]
        if worst.mode is Mode.NO_FIT and not exceeds:
            said += no_preemption_while_borrowing(self._request.policy, shortages, node)
        return worst, outlooks, _Miss(reason, f"{words}: {'; '.join(said)}", tuple(shortages))

    def _outlook(self, of: FlavorResource, asked: int) -> Outlook:
        request = self._request
        tree, node = request.tree, request.node
        if not asked:  # nothing fits anywhere, also where the queue borrows already
            return _BEST
        if asked > node.potential.get(of, 0):
            return Outlook(Mode.NO_FIT, 0)
        level, below_root = tree.level(node, of, asked)
        if asked <= tree.available(node, of):
            return Outlook(Mode.FIT, level)
        policy = request.policy
        while_borrowing = policy.borrow_within != NEVER or (
            request.fair and policy.reclaim != NEVER
        )
        if asked <= node.nominal(of) or below_root or while_borrowing:
            return request.oracle(of, asked)
        return Outlook(Mode.NO_FIT, level)

    def _pod_set(self, index: int) -> PodSetAssignment:
        pod_set, draft = self._request.pod_sets[index], self._drafts[index]
        flavors = distinct(draft.flavors.values())
        return PodSetAssignment(
            name=pod_set.name,
            count=pod_set.count,
            flavors=tuple(sorted((r, f.name) for r, f in draft.flavors.items())),
            usage=tuple(sorted(draft.asked.items())),
            labels=tuple(sorted({k: v for f in flavors for k, v in f.labels}.items())),
            tolerations=tuple(t for f in flavors for t in f.tolerations),
        )


def prefers(one: Outlook, other: Outlook, preference: str) -> bool:
    """Is `one` strictly better? A flavor without candidates ranks below all that fit; no fit is last."""
    if one.mode is Mode.NO_FIT:
        return False
    if other.mode is Mode.NO_FIT:
        return True
    if preference == "PreemptionOverBorrowing":
        viable = one.mode is not Mode.NO_CANDIDATES, other.mode is not Mode.NO_CANDIDATES
        return (viable[0], -one.level, one.mode) > (viable[1], -other.level, other.mode)
    return (one.mode, -one.level) > (other.mode, -other.level)


def _least(pod_set: str, misses: Sequence[_Miss]) -> _Miss:
    """Of alternative flavors the least severe reason counts, with what all of them were short of."""
    least = min(misses, key=lambda m: SEVERITY[m.reason], default=None)
    if least is None:
        return _Miss(Reason.NO_MATCHING_FLAVOR, _join(pod_set, ["the queue has no flavor left"]))
    alike = [m.message for m in misses if m.reason is least.reason]
    shortages = tuple(s for m in misses for s in m.shortages)
    return least._replace(message=_join(pod_set, alike), shortages=shortages)


def _join(pod_set: str, messages: Sequence[str]) -> str:
    unique = list(dict.fromkeys(messages))
    return f"pod set {pod_set}: " + "; ".join(unique[:8])

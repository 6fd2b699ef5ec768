"""Classical preemption: victims in the workload's queue and its cohort, as Kueue's preemption.

Walking from the queue to the root, holders of each further subtree are *hierarchical* candidates once
some lower subtree could hold the rest of the request inside its quota, else *priority* candidates.
"""

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto

from hub.domain.preemption.search import Cause, Contest, Victim, removals
from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.quota.holders import AdmittedWorkload, Key
from hub.domain.quota.queue_policy import NEVER
from hub.domain.quota.tree import Node


class CandidateKind(Enum):
    """On which ground a candidate may be taken."""

    OWN = auto()
    HIERARCHICAL = auto()
    WITHOUT_BORROWING = auto()
    WHILE_BORROWING = auto()


_CAUSES = {
    CandidateKind.OWN: Cause.IN_QUEUE,
    CandidateKind.HIERARCHICAL: Cause.RECLAMATION,
    CandidateKind.WITHOUT_BORROWING: Cause.RECLAMATION,
    CandidateKind.WHILE_BORROWING: Cause.WHILE_BORROWING,
}


class _Source:
    """A queue whose holders may be taken, in order.

    The lists computed once per queue serve every head; this class holds only the position of one search.
    Once a queue (or a cohort below the common one) is inside its quota, it loses no further
    workload.
    """

    __slots__ = (
        "_contested", "_filtered", "_policy", "_quotas", "_tree",
        "contest", "ends", "first", "items", "kind",
    )  # fmt: skip

    def __init__(
        self,
        contest: Contest,
        node: Node,
        policy: str,
        kind: CandidateKind | None,
        ancestor: Node | None,
    ) -> None:
        """`kind` None: that of each depends on its priority. `ancestor`: the lowest common cohort."""
        self.contest, self._contested = contest, contest.contested
        self._policy, self.kind = policy, kind
        self._tree = node.tree
        self._quotas: list[tuple[int, Mapping[FlavorResource, int]]] = []
        for each in () if kind is CandidateKind.OWN else node.chain:
            if each is ancestor:
                break
            self._quotas.append((each.place, each.subtree))
        self._filtered = contest.quota_state.policies[node.name].by_usage
        if self._filtered:
            self.items = contest.in_order(node.name, policy)
            live = sum(holder.evicted for _, holder in self.items)
        else:
            self.items = contest.ranked(node.name)
            live = contest.quota_state.queue_holders(node.name).live
        end = len(self.items)
        self.ends = live, end  # of those that are evicted, of those that are not
        self.first = (self.next(0, live) if live else 0), self.next(live, end)

    def next(self, at: int, end: int) -> int:
        """The place from `at` on of the next who may be taken; `end` if there is none."""
        if self._filtered or at >= end:
            return at
        contest, items, policy = self.contest, self.items, self._policy
        anybody = policy == "Any" and not contest.spares
        for place in range(at, end):
            holder = items[place][1]
            if anybody:
                if holder.uses(contest.contested):
                    return place
            elif contest.may_take(holder, policy):
                return place
            elif policy == "LowerPriority" and contest.rises_from(holder):
                break
        return end

    def __bool__(self) -> bool:
        """True if there is a victim left."""
        return self.first[0] < self.ends[0] or self.first[1] < self.ends[1]

    def is_over(self) -> bool:
        """May still be taken of it, as things are now?"""
        used = self.contest.quota_state.tree.used[self._tree]
        for place, quota in self._quotas:
            for of in self._contested:
                if used[of][place] > quota.get(of, 0):
                    break
            else:
                return False
        return True


_Classes = tuple[list[_Source], ...]


def find_victims(contest: Contest) -> list[Victim]:
    """A minimal set of victims that makes room, in the order they were chosen; [] where none does."""
    hierarchical, by_priority = _from_cohort(contest)
    own = []
    if contest.policy.within != NEVER:
        source = _Source(contest, contest.node, contest.policy.within, CandidateKind.OWN, None)
        own = [source] if source else []
    if not (hierarchical or by_priority or own):
        return []
    for borrowing in _passes(
        contest, foreign=bool(hierarchical or by_priority), hierarchical=bool(hierarchical)
    ):
        found = _select(contest, (hierarchical, by_priority, own), borrowing=borrowing)
        if found and contest.within_budget(found):
            return found
    return []


def _passes(contest: Contest, *, foreign: bool, hierarchical: bool) -> tuple[bool, ...]:
    """In which passes borrowing is allowed."""
    forbidden = contest.policy.borrow_within == NEVER
    if not foreign or (forbidden and not _under_nominal(contest)):
        return (True,)
    if forbidden and not hierarchical:
        return (False, True)
    return (True, False)


def _under_nominal(contest: Contest) -> bool:
    """Is the queue strictly under its nominal quota on everything contested?"""
    tree, node = contest.quota_state.tree, contest.node
    return all(tree.used_of(node, of) < node.nominal(of) for of in contest.contested)


def _select(contest: Contest, classes: _Classes, *, borrowing: bool) -> list[Victim]:
    with removals(contest) as tried:
        if tried.until_it_fits(_candidates(classes, borrowing=borrowing), borrowing=borrowing):
            return tried.fill_back(borrowing=borrowing)
    return []


def _candidates(classes: _Classes, *, borrowing: bool) -> Iterator[Victim]:
    """Evicted ones of each class first, then the live ones of each class."""
    return itertools.chain.from_iterable(
        _merged(sources, evicted=evicted, borrowing=borrowing)
        for evicted in (True, False)
        for sources in classes
        if sources
    )


def _merged(sources: Sequence[_Source], *, evicted: bool, borrowing: bool) -> Iterator[Victim]:
    """Holders of several queues in one order; a queue is left once it is inside its quota."""
    which = 0 if evicted else 1
    heap: list[tuple[Key, int, int]] = []
    for number, source in enumerate(sources):
        at = source.first[which]
        if at < source.ends[which]:
            heap.append((source.items[at][0], number, at))
    heapq.heapify(heap)
    while heap:
        _, number, at = heap[0]
        source = sources[number]
        if not source.is_over():
            heapq.heappop(heap)
            continue
        following = source.next(at + 1, source.ends[which])
        if following < source.ends[which]:
            heapq.heapreplace(heap, (source.items[following][0], number, following))
        else:
            heapq.heappop(heap)
        holder = source.items[at][1]
        kind = source.kind or _kind(source.contest, holder)
        if not (borrowing and kind is CandidateKind.WITHOUT_BORROWING):
            yield Victim(holder, _CAUSES[kind])


def _from_cohort(contest: Contest) -> tuple[list[_Source], list[_Source]]:
    """Candidates of other queues: hierarchical ones, and those that only priority gives."""
    hierarchical: list[_Source] = []
    by_priority: list[_Source] = []
    reclaim = contest.policy.reclaim
    if reclaim == NEVER:
        return hierarchical, by_priority
    advantages = _advantages(contest)
    for queue, common in _over_quota(contest):
        advantage = advantages[common]
        kind = CandidateKind.HIERARCHICAL if advantage else None
        source = _Source(contest, queue, reclaim, kind, common)
        if source:
            (hierarchical if advantage else by_priority).append(source)
    return hierarchical, by_priority


def _advantages(contest: Contest) -> dict[Node, bool]:
    """For each cohort above: could some lower subtree hold the rest of the request inside its quota?"""
    found: dict[Node, bool] = {}
    advantage, left = _holds(contest, contest.node, contest.usage)
    for cohort in contest.node.path():
        found[cohort] = advantage
        fits, left = _holds(contest, cohort, left)
        advantage = advantage or fits
    return found


def _kind(contest: Contest, holder: AdmittedWorkload) -> CandidateKind:
    policy = contest.policy
    if policy.borrow_within == NEVER or holder.priority >= contest.who.priority:
        return CandidateKind.WITHOUT_BORROWING
    if policy.threshold is not None and holder.priority > policy.threshold:
        return CandidateKind.WITHOUT_BORROWING
    return CandidateKind.WHILE_BORROWING


def _holds(contest: Contest, node: Node, asked: Usage) -> tuple[bool, Usage]:
    """Does `asked` fit inside the node's own quota, and what of it must come from above?"""
    tree = contest.quota_state.tree
    fits = not any(tree.borrows(node, of, amount) for of, amount in asked.items())
    left = {of: max(0, a - tree.local_available(node, of)) for of, a in asked.items()}
    return fits, left


def _over_quota(contest: Contest) -> Iterator[tuple[Node, Node]]:
    """Queues that exceed their quota on what is contested, through cohorts that do too, each with the
    lowest cohort that it shares with the preemptor.
    """
    tree, own, contested = contest.quota_state.tree, contest.node, contest.contested
    inactive = contest.quota_state.inactive
    ours, inside = frozenset(own.chain), set[Node]()
    known = set[Node]() if len(contested) > 1 else None
    for of in sorted(contested):
        for queue in tree.over(own.root(), of):
            if queue is own or queue.name in inactive or (known is not None and queue in known):
                continue
            if known is not None:
                known.add(queue)
            for cohort in queue.path():
                if cohort in ours:
                    yield queue, cohort
                    break
                if cohort in inside or tree.within(cohort, contested):
                    inside.add(cohort)
                    break

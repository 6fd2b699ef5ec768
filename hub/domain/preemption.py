"""Classical preemption: whom a workload may displace in its queue and its cohort (queueing 2.4).

Walking from the queue to the root, holders of each further subtree are *hierarchical* candidates once
some lower subtree could hold the rest of the request inside its quota, else *priority* candidates.
"""

import heapq
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from hub.domain.cohort import Node
from hub.domain.queue_policy import NEVER
from hub.domain.quota import Usage
from hub.domain.standing import Holder, Key
from hub.domain.victims import Cause, Contest, Victim, trial


class Kind(Enum):
    """On which ground a candidate may be taken."""

    OWN = auto()
    HIERARCHICAL = auto()
    WITHOUT_BORROWING = auto()
    WHILE_BORROWING = auto()


_CAUSES = {
    Kind.OWN: Cause.IN_QUEUE,
    Kind.HIERARCHICAL: Cause.RECLAMATION,
    Kind.WITHOUT_BORROWING: Cause.RECLAMATION,
    Kind.WHILE_BORROWING: Cause.WHILE_BORROWING,
}


class _Source:
    """A queue whose holders may be taken, in order; `ancestor` is the lowest cohort shared with it.

    What is worked out once per queue serves every head that looks at it; here is only how far this one
    has come. Once a queue (or a cohort below `ancestor`) is inside its quota nobody more is taken of it.
    """

    __slots__ = ("_contest", "_filtered", "_policy", "ancestor", "items", "kind", "live", "node")

    def __init__(
        self, contest: Contest, node: Node, policy: str, kind: Kind | None, ancestor: Node | None
    ) -> None:
        """`kind` None: that of each depends on its priority."""
        self._contest = contest
        self._policy = policy
        self.node = node
        self.kind = kind
        self.ancestor = ancestor
        self._filtered = contest.standing.policies[node.name].by_usage
        if self._filtered:
            self.items = contest.in_order(node.name, policy)
            self.live = sum(holder.evicted for _, holder in self.items)
        else:
            self.items = contest.ranked(node.name)
            self.live = contest.standing.roster(node.name).live

    def next(self, at: int, end: int) -> int:
        """The place from `at` on of the next who may be taken; `end` where there is none."""
        if self._filtered:
            return at
        contest, items = self._contest, self.items
        while at < end:
            holder = items[at][1]
            if contest.may_take(holder, self._policy):
                return at
            if self._policy == "LowerPriority" and contest.rises_from(holder):
                return end
            at += 1
        return end

    def __bool__(self) -> bool:
        """Is there anybody who may be taken?"""
        return self.next(0, self.live) < self.live or (
            self.next(self.live, len(self.items)) < len(self.items)
        )

    def kind_of(self, holder: Holder) -> Kind:
        return self.kind or _kind(self._contest, holder)

    def is_over(self) -> bool:
        """May still be taken of it, as things are now?"""
        tree, contested = self._contest.standing.tree, self._contest.contested
        node: Node | None = self.node if self.kind is not Kind.OWN else None
        while node is not None and node is not self.ancestor:
            if tree.within(node, contested):
                return False
            node = node.parent
        return True


_Classes = tuple[list[_Source], ...]


def find_victims(contest: Contest) -> list[Victim]:
    """A minimal set of victims that makes room, in the order they were chosen; [] where none does."""
    hierarchical, by_priority = _from_cohort(contest)
    own = []
    if contest.policy.within != NEVER:
        source = _Source(contest, contest.node, contest.policy.within, Kind.OWN, None)
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
    tree, node = contest.standing.tree, contest.node
    return all(tree.used_of(node, of) < node.nominal(of) for of in contest.contested)


def _select(contest: Contest, classes: _Classes, *, borrowing: bool) -> list[Victim]:
    with trial(contest.standing) as tried:
        for victim in _candidates(classes, borrowing=borrowing):
            tried.take(victim)
            if contest.fits(tried.gone, borrowing=borrowing):
                return tried.fill_back(contest, borrowing=borrowing)
    return []


def _candidates(classes: _Classes, *, borrowing: bool) -> Iterator[Victim]:
    """Evicted ones of each class first, then the live ones of each class."""
    for evicted in (True, False):
        for sources in classes:
            yield from _merged(sources, evicted=evicted, borrowing=borrowing)


def _merged(sources: Sequence[_Source], *, evicted: bool, borrowing: bool) -> Iterator[Victim]:
    """Holders of several queues in one order; a queue is left once it is inside its quota."""
    heap: list[tuple[Key, int, int]] = []
    for number, source in enumerate(sources):
        start, end = (0, source.live) if evicted else (source.live, len(source.items))
        at = source.next(start, end)
        if at < end:
            heap.append((source.items[at][0], number, at))
    heapq.heapify(heap)
    while heap:
        _, number, at = heap[0]
        source = sources[number]
        if not source.is_over():
            heapq.heappop(heap)
            continue
        end = source.live if evicted else len(source.items)
        following = source.next(at + 1, end)
        if following < end:
            heapq.heapreplace(heap, (source.items[following][0], number, following))
        else:
            heapq.heappop(heap)
        holder = source.items[at][1]
        kind = source.kind_of(holder)
        if not (borrowing and kind is Kind.WITHOUT_BORROWING):
            yield Victim(holder, _CAUSES[kind])


def _from_cohort(contest: Contest) -> tuple[list[_Source], list[_Source]]:
    """Candidates of other queues: hierarchical ones, and those that only priority gives."""
    hierarchical: list[_Source] = []
    by_priority: list[_Source] = []
    reclaim = contest.policy.reclaim
    if reclaim == NEVER:
        return hierarchical, by_priority
    node = contest.node
    advantage, left = _holds(contest, node, contest.usage)
    visited: Node | None = None
    for cohort in node.path():
        found = hierarchical if advantage else by_priority
        kind = Kind.HIERARCHICAL if advantage else None
        for queue in _over_quota(contest, cohort, visited):
            source = _Source(contest, queue, reclaim, kind, cohort)
            if source:
                found.append(source)
        fits, left = _holds(contest, cohort, left)
        advantage = advantage or fits
        visited = cohort
    return hierarchical, by_priority


def _kind(contest: Contest, holder: Holder) -> Kind:
    policy = contest.policy
    if policy.borrow_within == NEVER or holder.priority >= contest.who.priority:
        return Kind.WITHOUT_BORROWING
    if policy.threshold is not None and holder.priority > policy.threshold:
        return Kind.WITHOUT_BORROWING
    return Kind.WHILE_BORROWING


def _holds(contest: Contest, node: Node, asked: Usage) -> tuple[bool, Usage]:
    """Does `asked` fit inside the node's own quota, and what of it must come from above?"""
    tree = contest.standing.tree
    fits = not any(tree.borrows(node, of, amount) for of, amount in asked.items())
    left = {of: max(0, a - tree.local_available(node, of)) for of, a in asked.items()}
    return fits, left


def _over_quota(contest: Contest, cohort: Node, visited: Node | None) -> Iterator[Node]:
    """Queues below that exceed their quota on what is contested, through cohorts that do too."""
    tree = contest.standing.tree
    for child in cohort.children:
        if child is visited or child is contest.node or tree.within(child, contest.contested):
            continue
        if child.is_queue:
            yield child
        else:
            yield from _over_quota(contest, child, None)

"""Classical preemption: whom a workload may displace in its queue and its cohort (queueing 2.4).

Walking from the queue to the root, holders of each further subtree are *hierarchical* candidates once
some lower subtree could hold the rest of the request inside its quota, else *priority* candidates.
"""

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import NamedTuple

from hub.domain.cohort import Node
from hub.domain.queue_policy import NEVER
from hub.domain.quota import Usage
from hub.domain.standing import Holder
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


class Candidate(NamedTuple):
    """A holder, the ground, and the lowest cohort that it shares with the preemptor."""

    holder: Holder
    kind: Kind
    ancestor: Node | None


def find_victims(contest: Contest) -> list[Victim]:
    """A minimal set of victims that makes room, in the order they were chosen; [] where none does."""
    own = [Candidate(h, Kind.OWN, None) for h in contest.own_candidates()]
    hierarchical, by_priority = _from_cohort(contest)
    ordered = _concatenated(contest, hierarchical, by_priority, own)
    if not ordered:
        return []
    for borrowing in _passes(
        contest, foreign=bool(hierarchical or by_priority), hierarchical=bool(hierarchical)
    ):
        found = _select(contest, ordered, borrowing=borrowing)
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


def _select(contest: Contest, ordered: Iterable[Candidate], *, borrowing: bool) -> list[Victim]:
    with trial(contest.standing) as tried:
        for candidate in ordered:
            if not _is_valid(contest, candidate, borrowing=borrowing):
                continue
            tried.take(Victim(candidate.holder, _CAUSES[candidate.kind]))
            if contest.fits(borrowing=borrowing):
                return tried.fill_back(contest, borrowing=borrowing)
    return []


def _is_valid(contest: Contest, candidate: Candidate, *, borrowing: bool) -> bool:
    """Others are skipped once their queue, or a cohort below the common one, is inside its quota."""
    if candidate.kind is Kind.OWN:
        return True
    if borrowing and candidate.kind is Kind.WITHOUT_BORROWING:
        return False
    tree = contest.standing.tree
    node: Node | None = contest.standing.node(candidate.holder.queue)
    while node is not None and node is not candidate.ancestor:
        if tree.within(node, contest.contested):
            return False
        node = node.parent
    return True


def _concatenated(
    contest: Contest,
    hierarchical: list[Candidate],
    by_priority: list[Candidate],
    own: list[Candidate],
) -> list[Candidate]:
    """Evicted ones of each class first, then the live ones of each class."""

    def in_order(candidates: list[Candidate]) -> list[Candidate]:
        by_uid = {c.holder.uid: c for c in candidates}
        return [by_uid[h.uid] for h in contest.sorted(c.holder for c in candidates)]

    listed = [*in_order(hierarchical), *in_order(by_priority), *in_order(own)]
    return [c for c in listed if c.holder.evicted] + [c for c in listed if not c.holder.evicted]


def _from_cohort(contest: Contest) -> tuple[list[Candidate], list[Candidate]]:
    """Candidates of other queues: hierarchical ones, and those that only priority gives."""
    hierarchical: list[Candidate] = []
    by_priority: list[Candidate] = []
    if contest.policy.reclaim == NEVER:
        return hierarchical, by_priority
    node = contest.node
    advantage, left = _holds(contest, node, contest.usage)
    visited: Node | None = None
    for cohort in node.path():
        found = hierarchical if advantage else by_priority
        for queue in _over_quota(contest, cohort, visited):
            for holder in contest.standing.holders(queue.name):
                if contest.may_take(holder, contest.policy.reclaim):
                    kind = _kind(contest, holder, advantage=advantage)
                    found.append(Candidate(holder, kind, cohort))
        fits, left = _holds(contest, cohort, left)
        advantage = advantage or fits
        visited = cohort
    return hierarchical, by_priority


def _kind(contest: Contest, holder: Holder, *, advantage: bool) -> Kind:
    if advantage:
        return Kind.HIERARCHICAL
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

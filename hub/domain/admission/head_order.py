"""The order among heads of one round: classical, or by who stays nearest to its share."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from hub.domain.admission.flavor_assigner import Search
from hub.domain.quota.declared import Usage
from hub.domain.quota.dominant_share import Share, dominant_share
from hub.domain.quota.holders import PendingWorkload, QuotaState
from hub.domain.quota.tree import Node


class Entrant(Protocol):
    """A head with what it could get."""

    @property
    def who(self) -> PendingWorkload: ...
    @property
    def search(self) -> Search: ...
    @property
    def usage(self) -> Usage: ...


E = TypeVar("E", bound=Entrant)
_Key = tuple[object, ...]


def in_order(entrants: Iterable[E], *, preemptors_first: bool = False) -> list[E]:
    """Smaller borrowing level, higher priority, earlier queue-order timestamp, identity.

    With `preemptors_first`, preemptors whose victims are leaving go before all others.
    """
    return sorted(
        entrants,
        key=lambda e: (
            preemptors_first and not e.who.nominated,
            e.search.borrowing,
            *_seniority(e),
        ),
    )


def by_share(
    quota_state: QuotaState, entrants: Iterable[E], *, preemptors_first: bool = False
) -> Iterator[E]:
    """Winners of one tournament after the other; each round computes the shares again.

    At each cohort, among the winners of its children: the one whose subtree does not borrow what it
    asks for, then the lower share with its usage added, then seniority. Trees do not touch each
    other; queues without a cohort come first.
    """
    trees: dict[int, dict[str, E]] = {}
    roots: dict[int, Node] = {}
    alone: list[E] = []
    for entrant in entrants:
        node = quota_state.node(entrant.who.queue)
        if node.parent is None:
            alone.append(entrant)
        else:
            root = node.root()
            roots[root.index] = root
            trees.setdefault(root.index, {})[entrant.who.queue] = entrant
    yield from sorted(alone, key=_seniority)
    for index in sorted(roots):
        left = trees[index]
        while left:
            standings = _standings(quota_state, left)
            winner = _winner(roots[index], left, standings, preemptors_first)
            assert winner is not None
            del left[winner.who.queue]
            yield winner


def _standings(
    quota_state: QuotaState, left: Mapping[str, E]
) -> dict[tuple[str, int], tuple[bool, Share]]:
    """For each entrant and cohort above: does its side borrow, and its share, usage added."""
    tree = quota_state.tree
    found: dict[tuple[str, int], tuple[bool, Share]] = {}
    for name, entrant in left.items():
        with tree.with_charge(name, entrant.usage):
            node = quota_state.node(name)
            for cohort in node.path():
                borrows = not tree.within(node, entrant.usage)
                found[name, cohort.index] = (borrows, dominant_share(tree, node))
                node = cohort
    return found


def _winner(
    cohort: Node,
    left: Mapping[str, E],
    standings: Mapping[tuple[str, int], tuple[bool, Share]],
    preemptors_first: bool,
) -> E | None:
    best: E | None = None
    best_key: _Key = ()
    for child in cohort.children:
        entrant = (
            left.get(child.name)
            if child.is_queue
            else _winner(child, left, standings, preemptors_first)
        )
        if entrant is None:
            continue
        standing = standings[entrant.who.queue, cohort.index]
        later = preemptors_first and not entrant.who.nominated
        key = (later, *standing, *_seniority(entrant))
        if best is None or key < best_key:
            best, best_key = entrant, key
    return best


def _seniority(entrant: Entrant) -> _Key:
    who = entrant.who
    return -who.priority, who.queued_at, who.identity

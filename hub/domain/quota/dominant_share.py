"""Weighted dominant resource share: how far a queue or cohort lives beyond its own quota.

Per resource, what is borrowed over all flavors, divided by what the tree could lend to the parent;
the largest of these in thousandths, divided by the weight (Kueue's KEP-1714). Exact fractions.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from hub.domain.quota.tree import Node, QuotaTree
from shared import quantity

INFINITE: Final = quantity.MAX  # as an infinite share is reported


class Share(NamedTuple):
    """Compares as shares compare: two infinite ones by their unweighted ratios."""

    infinite: bool
    value: Fraction

    def reported(self) -> int:
        """In thousandths, rounded up; an infinite share is 2**63 - 1."""
        return INFINITE if self.infinite else min(INFINITE, math.ceil(self.value))


NONE: Final = Share(infinite=False, value=Fraction(0))


def dominant_share(tree: QuotaTree, node: Node) -> Share:
    """The share of a node now; none for a node without a parent."""
    return dominance(tree, node).share


class Dominance(NamedTuple):
    """A share, and whether the node uses more than its quota: its parent may lend nothing, so that the
    share is zero all the same.
    """

    share: Share
    borrows: bool


def dominance(tree: QuotaTree, node: Node) -> Dominance:
    """Dominant resource of a node. Only flavors that it (a cohort: its subtree) has quota for count."""
    if node.parent is None:
        return _NOTHING
    borrowed: dict[str, int] = {}
    place, subtree = node.place, node.subtree
    for of, used in tree.used[node.tree].items():
        quota = subtree.get(of)
        if quota is not None and used[place] > quota:
            borrowed[of.resource] = borrowed.get(of.resource, 0) + used[place] - quota
    if not borrowed:
        return _NOTHING
    ratio = Fraction(0)
    for name, amount in borrowed.items():
        lendable = node.parent.lendable.get(name, 0)
        if lendable > 0:
            ratio = max(ratio, Fraction(amount * 1000, lendable))
    weight = weight_of(node.weight)
    if not weight:
        return Dominance(Share(infinite=True, value=ratio), borrows=True)
    return Dominance(Share(infinite=False, value=ratio / weight), borrows=True)


_NOTHING: Final = Dominance(NONE, borrows=False)


@lru_cache(maxsize=1024)
def weight_of(text: str) -> Fraction:
    """A fair-sharing weight as an exact number."""
    return Fraction(quantity.number(text))

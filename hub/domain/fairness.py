"""Weighted dominant resource share: how far a queue or cohort lives beyond its own quota.

Per resource, what is borrowed over all flavors, divided by what the tree could lend to the parent;
the largest of these in thousandths, divided by the weight (queueing 2.3, KEP-1714). Exact fractions.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from hub.domain.cohort import Node, QuotaTree
from shared import quantity

INFINITE: Final = quantity.MAX  # as an infinite share is reported


class Share(NamedTuple):
    """Compares as shares compare: two infinite ones by their unweighted ratios."""

    infinite: bool
    value: Fraction

    @property
    def borrows(self) -> bool:
        return self.infinite or self.value > 0

    def reported(self) -> int:
        """In thousandths, rounded up; an infinite share is 2**63 - 1."""
        return INFINITE if self.infinite else min(INFINITE, math.ceil(self.value))


NONE: Final = Share(infinite=False, value=Fraction(0))


def dominant_share(tree: QuotaTree, node: Node) -> Share:
    """The share of a node now; a node without a parent has none."""
    return dominant(tree, node)[0]


def dominant(tree: QuotaTree, node: Node) -> tuple[Share, str]:
    """The share and the resource it comes from (the first by name of equals)."""
    if node.parent is None:
        return NONE, ""
    borrowed: dict[str, int] = {}
    for of, used in tree.used[node.tree].items():
        beyond = used[node.place] - node.subtree.get(of, 0)
        if beyond > 0:
            borrowed[of.resource] = borrowed.get(of.resource, 0) + beyond
    ratio, resource = Fraction(0), ""
    for name in sorted(borrowed):
        lendable = node.parent.lendable.get(name, 0)
        if lendable <= 0:
            continue
        part = Fraction(borrowed[name] * 1000, lendable)
        if part > ratio:
            ratio, resource = part, name
    if not ratio:
        return NONE, ""
    weight = weight_of(node.weight)
    if not weight:
        return Share(infinite=True, value=ratio), resource
    return Share(infinite=False, value=ratio / weight), resource


@lru_cache(maxsize=1024)
def weight_of(text: str) -> Fraction:
    """A fair-sharing weight as an exact number."""
    return Fraction(quantity.number(text))

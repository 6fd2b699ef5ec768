"""Topology spread over clusters' labels, as KubeFleet has it, with its flaw mended
(pkg/scheduler/framework/plugins/topologyspreadconstraints).

    change:  L == S ⇒ +1;  count == S and S ≠ S2 ⇒ -1;  count == L ⇒ +1;  else 0
    violated ⇔ (L - S) + change > maxSkew, unless the move lowers the skew, or is on the way to that
    score -= change

L largest, S smallest, S2 second smallest count of this placement's clusters per value of the key,
values of any known cluster included. A cluster without the label never violates and scores 0.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from hub.domain.fleet.clusters import Cluster
from hub.domain.workloads.placement_policy import Spread

_VIOLATED = -1000  # the score of a violation that is only unwished for


class SpreadScore(NamedTuple):
    """`refused`: which constraint forbids the cluster, in words; "" where none does."""

    score: int
    refused: str = ""


def spread_score(
    constraints: Iterable[Spread],
    cluster: Cluster,
    fleet: Collection[Cluster],
    chosen: Collection[str],
    *,
    repairs: bool = True,
) -> SpreadScore:
    """The change of the skew of every constraint when `cluster` joins the picked ones."""
    return Spreading(constraints, fleet, chosen, repairs=repairs).score(cluster)


class Spreading:
    """The number of picked clusters in each domain of every constraint, updated with each pick.

    `repairs`: one of several smallest domains may have one more though the skew stays: with 0, 0 and 3
    it takes two picks to lower it.
    """

    def __init__(
        self,
        constraints: Iterable[Spread],
        fleet: Collection[Cluster],
        chosen: Collection[str],
        *,
        repairs: bool = True,
    ) -> None:
        self._repairs = repairs
        self._counted = [(each, _counts(each.key, fleet, chosen)) for each in constraints]
        self._ordered = [sorted(counts.values()) for _, counts in self._counted]

    def add(self, cluster: Cluster) -> None:
        """One more is chosen."""
        for at, (constraint, counts) in enumerate(self._counted):
            domain = cluster.labels.get(constraint.key)
            if domain is not None:
                counts[domain] += 1
                self._ordered[at] = sorted(counts.values())

    def score(self, cluster: Cluster) -> SpreadScore:
        """The change of the skew of every constraint by one more, or the constraint that forbids it."""
        total = 0
        for (constraint, counts), ordered in zip(self._counted, self._ordered, strict=True):
            domain = cluster.labels.get(constraint.key)
            if domain is None:
                continue
            change = _change(counts[domain], ordered)
            skew = ordered[-1] - ordered[0]
            smallest = self._repairs and skew > 0 and counts[domain] == ordered[0]
            violated = change >= 0 and not smallest and skew + change > constraint.max_skew
            if violated and constraint.required:
                return SpreadScore(
                    0, f"{constraint.key}={domain} would exceed a skew of {constraint.max_skew}"
                )
            total += _VIOLATED if violated else -change
        return SpreadScore(total)


def _counts(key: str, fleet: Collection[Cluster], chosen: Collection[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for cluster in fleet:
        domain = cluster.labels.get(key)
        if domain is not None:
            counts[domain] = counts.get(domain, 0) + (cluster.name in chosen)
    return counts


def _change(count: int, ordered: list[int]) -> int:
    smallest, largest = ordered[0], ordered[-1]
    second = ordered[1] if len(ordered) > 1 else smallest
    if largest == smallest:
        return 1
    if count == smallest and smallest != second:
        return -1
    return 1 if count == largest else 0

"""Partial admission: the largest share of a workload's pods that can be admitted (Kueue's KEP-420)."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from shared.resources import PodSet

Found = TypeVar("Found")


def may_shrink(pod_sets: Sequence[PodSet]) -> bool:
    """Does any pod set do with fewer pods?"""
    return any(p.min_count is not None and p.min_count < p.count for p in pod_sets)


def largest(
    pod_sets: Sequence[PodSet], admissible: Callable[[tuple[int, ...]], Found | None]
) -> Found | None:
    """The result of `admissible` for the largest counts that it accepts; None where even the least fail.

    Counts are count_j - floor(delta_j · i / D) for the smallest such i in 0..D, by binary search.
    """
    deltas = [
        max(0, p.count - (p.min_count if p.min_count is not None else p.count)) for p in pod_sets
    ]
    total = sum(deltas)
    if not total:
        return None

    def ask(step: int) -> Found | None:
        return admissible(
            tuple(p.count - d * step // total for p, d in zip(pod_sets, deltas, strict=True))
        )

    low, high, best = 0, total + 1, None
    while low < high:
        step = (low + high) // 2
        found = ask(step) if step <= total else None
        if found is None:
            low = step + 1
        else:
            best, high = found, step
    return best

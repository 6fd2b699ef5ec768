"""Requeues a workload that was considered and not admitted, by Kueue's queueing strategies.

Each queue has a heap of those that may be considered and a park of those that wait to be woken.
"""

from enum import StrEnum
from typing import Final

from hub.domain.quota.holders import PendingWorkload


class Outcome(StrEnum):
    """Reasons why an attempt ended without admission: Kueue's requeue reasons."""

    NAMESPACE_MISMATCH = "NamespaceMismatch"
    GENERIC = "Generic"  # failed checks, inactive queue …
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    GATED = "PreemptionGated"
    FAILED_AFTER_NOMINATION = "FailedAfterNomination"  # lost a race inside the cycle
    PENDING_PREEMPTION = "PendingPreemption"
    PREEMPTION_FAILED = "PreemptionFailed"


class Where(StrEnum):
    """The next waiting place."""

    HEAP = "heap"
    PARKED = "parked"


_RETRIED: Final = frozenset(
    {Outcome.FAILED_AFTER_NOMINATION, Outcome.PENDING_PREEMPTION, Outcome.PREEMPTION_FAILED}
)


def where_next(
    outcome: Outcome, *, strict: bool, untried_flavors: bool = False, woken: bool = False
) -> Where:
    """Heap or park. `woken`: an event that wakes the park arrived while the cycle ran."""
    if woken or untried_flavors or outcome in _RETRIED:
        return Where.HEAP
    if strict and outcome is not Outcome.NAMESPACE_MISMATCH:
        return Where.HEAP
    return Where.PARKED


def is_sticky(outcome: Outcome, *, strict: bool) -> bool:
    """Does it go before everything else in its queue until admitted? Only BestEffortFIFO has that."""
    return outcome is Outcome.PENDING_PREEMPTION and not strict


def is_due(who: PendingWorkload, now: int) -> bool:
    """Has its back-off passed, and does no condition hold it back?"""
    return who.requeued and (who.requeue_at is None or who.requeue_at <= now)


def back_off(attempt: int, *, base: float = 60.0, cap: float = 3600.0) -> float:
    """Seconds until the n-th requeue (from 1): base·2^(n-1), at most `cap`, without the jitter."""
    return float(min(cap, base * 2.0 ** (min(attempt, 64) - 1)))

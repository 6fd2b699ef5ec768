"""Trying again: how long to wait, and the one loop that does it. The only place with dice.

Jitter keeps a fleet of agents from knocking at the same instant after an outage. The wait is drawn
evenly between nothing and the bound ("full jitter"), and the bound doubles up to a cap.
"""

import random
from collections.abc import Callable
from typing import Final

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.stop import stop_never

from shared.clock import Clock

BASE_S: Final = 0.5
CAP_S: Final = 30.0

Retryable = Callable[[BaseException], bool]


def bound(attempt: int, base_s: float = BASE_S, cap_s: float = CAP_S) -> float:
    """The longest wait in seconds after failed attempt number `attempt` (1, 2, …)."""
    doublings = min(max(attempt - 1, 0), 60)
    return min(cap_s, base_s * 2.0**doublings)


def backoff(attempt: int, base_s: float = BASE_S, cap_s: float = CAP_S) -> float:
    """Seconds to wait after failed attempt number `attempt`: evenly drawn up to `bound`."""
    return random.uniform(0.0, bound(attempt, base_s, cap_s))


def jittered(period_s: float, share: float = 0.05) -> float:
    """A period with up to `share` more or less, so that loops do not march in step."""
    return period_s * random.uniform(1.0 - share, 1.0 + share)


def retrying(
    clock: Clock,
    retryable: Retryable,
    *,
    attempts: int | None = None,
    base_s: float = BASE_S,
    cap_s: float = CAP_S,
    before_wait: Callable[[int, BaseException, float], None] | None = None,
) -> AsyncRetrying:
    """Tries again while `retryable` says so; await the result with a function, or loop over it.

    `attempts` None means for ever. The last error is raised as it is. `before_wait` is told of the
    attempt's number, its error and the wait in seconds.
    """

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)

    def note(state: RetryCallState) -> None:
        fault = state.outcome.exception() if state.outcome else None
        if before_wait is not None and fault is not None:
            before_wait(state.attempt_number, fault, state.upcoming_sleep)

    return AsyncRetrying(
        sleep=sleep,
        stop=stop_never if attempts is None else stop_after_attempt(attempts),
        wait=lambda state: backoff(state.attempt_number, base_s, cap_s),
        retry=retry_if_exception(retryable),
        before_sleep=note,
        reraise=True,
    )

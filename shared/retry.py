"""Trying again: how long to wait, and the one policy that does it. The only place with dice.

Jitter keeps a fleet of agents from knocking at the same instant after an outage. The wait is drawn
evenly between nothing and a bound ("full jitter"), and the bound doubles up to a cap; what a refusal
asks for itself (Retry-After) goes first. Every loop and every call that goes out of its process and is
tried again does so through `retrying`.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_never,
    wait_random_exponential,
)

from shared.clock import Clock

BASE_S: Final = 0.5
CAP_S: Final = 30.0

Retryable = Callable[[BaseException], bool]
P = ParamSpec("P")
T = TypeVar("T")


def any_fault(fault: BaseException) -> bool:
    """Whatever failed may pass: for loops that go on for ever. An end from outside is no fault."""
    return isinstance(fault, Exception)


def jittered(period_s: float, share: float = 0.05) -> float:
    """A period with up to `share` more or less, so that loops do not march in step."""
    return period_s * random.uniform(1.0 - share, 1.0 + share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """A policy; call it with a function and its arguments. See `retrying`."""

    clock: Clock
    retryable: Retryable
    attempts: int | None
    base_s: float
    cap_s: float
    asked: Callable[[BaseException], float | None] | None
    fresh: Callable[[], bool] | None
    until: float | None
    before_wait: Callable[[int, BaseException, float], None] | None
    sleep: Callable[[float], Awaitable[None]] | None

    async def __call__(
        self, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What `work` returns in the end; its last error is raised as it is."""
        try:  # nothing is paid for a policy while nothing fails
            return await work(*args, **kwargs)
        except Exception as fault:
            if not self.retryable(fault):
                raise
            failed: list[Exception] = [fault]

        async def attempt() -> T:
            if failed:
                raise failed.pop()
            return await work(*args, **kwargs)

        return await self._policy()(attempt)

    def _policy(self) -> AsyncRetrying:
        return AsyncRetrying(
            sleep=self.sleep or self.clock.sleep,
            stop=self._stops,
            wait=self._wait,
            retry=retry_if_exception(self.retryable),
            before_sleep=self._note,
            reraise=True,
        )

    def _wait(self, state: RetryCallState) -> float:
        if self.fresh is not None and self.fresh():
            state.attempt_number = 1
        wanted = self.asked(_fault_of(state)) if self.asked is not None else None
        if wanted is not None:
            return wanted
        return wait_random_exponential(multiplier=self.base_s, max=self.cap_s)(state)

    def _stops(self, state: RetryCallState) -> bool:
        if self.until is not None and self.clock.monotonic() + state.upcoming_sleep >= self.until:
            return True
        stop = stop_never if self.attempts is None else stop_after_attempt(self.attempts)
        return stop(state)

    def _note(self, state: RetryCallState) -> None:
        if self.before_wait is not None:
            self.before_wait(state.attempt_number, _fault_of(state), state.upcoming_sleep)


def _fault_of(state: RetryCallState) -> BaseException:
    fault = state.outcome.exception() if state.outcome is not None else None
    assert fault is not None
    return fault


def retrying(
    clock: Clock,
    retryable: Retryable = any_fault,
    *,
    attempts: int | None = None,
    base_s: float = BASE_S,
    cap_s: float = CAP_S,
    asked: Callable[[BaseException], float | None] | None = None,
    fresh: Callable[[], bool] | None = None,
    until: float | None = None,
    before_wait: Callable[[int, BaseException, float], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] | None = None,
) -> Retrying:
    """A policy that tries again while `retryable` says so.

    `attempts` None means for ever. `until`: the monotonic instant at or after which no attempt begins.
    `asked`: the seconds that a failure itself asks for; None: full jitter below `base_s`, doubled with
    each failure in a row up to `cap_s`. `fresh`: whether the attempt that failed had got somewhere, so
    that it counts as the first. `before_wait` is told of the attempt's number, its error and the wait
    in seconds. `sleep`: how the wait is spent, the clock's way unless said otherwise.
    """
    return Retrying(
        clock=clock,
        retryable=retryable,
        attempts=attempts,
        base_s=base_s,
        cap_s=cap_s,
        asked=asked,
        fresh=fresh,
        until=until,
        before_wait=before_wait,
        sleep=sleep,
    )

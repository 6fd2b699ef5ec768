"""Retry rule of both clients, executed by tenacity.

An idempotent request is resent once, at once, if the connection ended before the answer. A 429 is retried
twice, after the time that the hub sets, if that is short. Everything else is the caller's decision: a hub
that does not answer may be busy, and retries make it busier. Long streams have a separate rule:
`taking_up_again`.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    retry_if_result,
    wait_random_exponential,
)

from roadstead.responses import ConnectionLost, Response, may_repeat, pause_s
from roadstead.steps import Request

_ASKS_ON_429: Final = 3
_SENDS_ON_CUT: Final = 2
_BREAK_S: Final = (0.5, 10.0)  # after a break: drawn below the first, doubled up to the second
T = TypeVar("T")


def send(ask: Request, once: Callable[[Request], Response]) -> Response:
    """Send `ask` with `once`, as often as the rule allows, and return the reply."""
    return Retrying(**_rule(ask))(once, ask)


async def send_async(ask: Request, once: Callable[[Request], Awaitable[Response]]) -> Response:
    """The same for an event loop."""
    reply: Response = await AsyncRetrying(**_rule(ask))(once, ask)
    return reply


class BrokeOff(Exception):
    """A long stream was interrupted, and may be resumed; with the reason.

    `got_on`: it made progress since it was resumed. `pause_s`: when to resume, if this is not a failure but
    a wait; None: after a backoff.
    """

    def __init__(self, why: str, *, got_on: bool = False, pause_s: float | None = None) -> None:
        super().__init__(why)
        self.got_on, self.pause_s = got_on, pause_s


def taking_up_again(work: Callable[[], T], note: Callable[[BrokeOff], None], most_s: float) -> T:
    """Return the result of `work`, calling it again whenever it raises BrokeOff.

    Calls `note` before each wait. Raises the last BrokeOff after `most_s` seconds without progress.
    """
    began = time.monotonic()

    def broke(state: RetryCallState) -> BrokeOff:
        assert state.outcome is not None
        fault = state.outcome.exception()
        assert isinstance(fault, BrokeOff)
        return fault

    def wait_s(state: RetryCallState) -> float:
        nonlocal began
        fault = broke(state)
        if fault.got_on or fault.pause_s is not None:
            state.attempt_number, began = 1, time.monotonic()
        if fault.pause_s is not None:
            return fault.pause_s
        least_s, longest_s = _BREAK_S
        return wait_random_exponential(multiplier=least_s, max=longest_s)(state)

    return Retrying(
        retry=retry_if_exception(lambda fault: isinstance(fault, BrokeOff)),
        wait=wait_s,
        stop=lambda state: time.monotonic() + state.upcoming_sleep - began > most_s,
        before_sleep=lambda state: note(broke(state)),
        reraise=True,
    )(work)


def _rule(ask: Request) -> dict[str, Any]:
    def is_to_repeat(failure: BaseException) -> bool:
        return isinstance(failure, ConnectionLost) and may_repeat(ask)

    return {
        "retry": retry_if_exception(is_to_repeat)
        | retry_if_result(lambda reply: pause_s(reply) is not None),
        "wait": _wait_s,
        "stop": _is_enough,
        "retry_error_callback": _as_it_is,
    }


def _wait_s(state: RetryCallState) -> float:
    assert state.outcome is not None
    return 0.0 if state.outcome.failed else pause_s(state.outcome.result()) or 0.0


def _is_enough(state: RetryCallState) -> bool:
    assert state.outcome is not None
    return state.attempt_number >= (_SENDS_ON_CUT if state.outcome.failed else _ASKS_ON_429)


def _as_it_is(state: RetryCallState) -> Response:
    """The last reply, or the last failure raised."""
    assert state.outcome is not None
    reply: Response = state.outcome.result()
    return reply

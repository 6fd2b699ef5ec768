"""When a request is sent again: one rule for both clients, carried out by tenacity.

What may be repeated without harm is repeated once, at once, when the connection ended before the answer.
A hub that answers 429 is asked again when it says, twice, if that is soon. Everything else is the
caller's to decide: a hub that does not answer may be busy, and asking more makes it busier.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    retry_if_result,
)

from roadstead.responses import ConnectionLost, Response, may_repeat, pause_s
from roadstead.steps import Request

_ASKS_ON_429: Final = 3
_SENDS_ON_CUT: Final = 2


def send(ask: Request, once: Callable[[Request], Response]) -> Response:
    """The reply to `ask`, sent by `once` as often as the rule says."""
    return Retrying(**_rule(ask))(once, ask)


async def send_async(ask: Request, once: Callable[[Request], Awaitable[Response]]) -> Response:
    """The same on an event loop."""
    reply: Response = await AsyncRetrying(**_rule(ask))(once, ask)
    return reply


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

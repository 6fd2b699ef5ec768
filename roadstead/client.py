"""The SDK: `Client`, one method per user action. The command line uses it.

    from roadstead import Client

    with Client() as hub:                       # address and token as for `roadstead`
        job = hub.submit(open("job.yaml", "rb").read())
        job = hub.wait(job.uid, timeout_s=600)  # raises JobFailed unless it succeeded
        print(job.cluster, job.finished_at - job.started_at)

What there is to call stands in `roadstead.calls`; answers are the records of `roadstead.models`. Every
method raises what `roadstead.errors` draws: `Rejected` (with `code`, `detail` and `errors`) and
`NotFound` where the hub refuses, `NotAllowed`, `Unreachable`.
"""

import time
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final, Self, TypeVar

from roadstead.calls.table import Calls
from roadstead.context import renewal_of, resolve
from roadstead.errors import Rejected
from roadstead.method import Blocking, CallState, Stream
from roadstead.responses import Address
from roadstead.steps import EventStream, Flow, Found, Pause, Steps

T = TypeVar("T")
TIMEOUT_S: Final = 30.0


class Client(Calls, Blocking):
    """A hub client. Threads may share it; an iterator that a call returns is for one thread only.

    `ca`: a file with the only CAs (PEM) to trust for the hub's certificate. `context`: the name of a
    context of `roadstead login`; it overrides the environment. `timeout_s`: the longest silence of the hub
    within a request, and the longest wait for a connection.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        ca: str | None = None,
        context: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        found = resolve(server, token, ca, name=context)
        self.server = found.server
        self._address = Address(found.server, found.token, found.ca, renewal_of(found))
        from roadstead.transport import Transport  # noqa: PLC0415 - httpx takes a tenth of a second

        self._transport = Transport(self._address, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._transport.close()

    def _carry_out(self, steps: Steps[T]) -> T:
        state: CallState[T] = CallState(steps, self._address)
        while state.step is not None:
            self._do(state)
        found: T = state.result
        return found

    def _iterate(self, flow: Flow[T], *, at_once: bool) -> Iterator[T]:
        found = self._found(flow)
        return chain(list(islice(found, 1)), found) if at_once else found

    def _found(self, flow: Flow[T]) -> Iterator[T]:
        state: CallState[None] = CallState(flow, self._address)
        while state.step is not None:
            if isinstance(state.step, Found):
                yield state.step.item
                state.go(None)
            else:
                self._do(state)

    def _do(self, state: CallState[Any]) -> None:
        step = state.step
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            state.go(None)
            return
        try:
            answer = self._transport.answer(state.request)
        except Rejected as refusal:
            state.fail(refusal)
        else:
            state.go(answer)

    def _follow(self, follow: EventStream[T]) -> Stream[T]:
        return self._transport.follow(follow)

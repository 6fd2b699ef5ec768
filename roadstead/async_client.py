"""The SDK for event loops: the methods of `roadstead.client`, awaited.

    async with AsyncClient() as hub:
        outcomes = await hub.submit_many(manifests)
        jobs = await hub.wait_all([job.uid for job in outcomes.jobs], timeout_s=600)
        async for job in hub.jobs(state="Failed"):
            print(job.full_name, job.reason)

The calls are the same objects as the blocking client's; this module only executes their steps.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self, TypeVar

from roadstead.calls.table import Calls
from roadstead.client import TIMEOUT_S
from roadstead.context import renewal_of, resolve
from roadstead.errors import Rejected
from roadstead.method import AsyncStream, Awaiting, CallState
from roadstead.responses import Address
from roadstead.steps import EventStream, Flow, Found, Pause, Steps

T = TypeVar("T")


class AsyncClient(Calls, Awaiting):
    """A hub client for one event loop; its tasks may share it. The arguments are those of `Client`.

    Lists send their request when `async for` begins; a stream is opened by `async with`, or then.
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
        from roadstead.async_transport import AsyncTransport  # noqa: PLC0415 - as in Client

        self._transport = AsyncTransport(self._address, timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._transport.aclose()

    async def _carry_out(self, steps: Steps[T]) -> T:
        state: CallState[T] = CallState(steps, self._address)
        while state.step is not None:
            await self._do(state)
        found: T = state.result
        return found

    async def _iterate(self, flow: Flow[T], *, at_once: bool) -> AsyncIterator[T]:
        state: CallState[None] = CallState(flow, self._address)
        while state.step is not None:
            if isinstance(state.step, Found):
                yield state.step.item
                state.go(None)
            else:
                await self._do(state)

    async def _do(self, state: CallState[Any]) -> None:
        step = state.step
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)  # noqa: TID251 - the caller's own loop and clock
            state.go(None)
            return
        try:
            answer = await self._transport.answer(state.request)
        except Rejected as refusal:
            state.fail(refusal)
        else:
            state.go(answer)

    def _follow(self, follow: EventStream[T]) -> AsyncStream[T]:
        return self._transport.follow(follow)

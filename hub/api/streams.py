"""Streams of server-sent events: counted per principal, woken by the feed, ended with the hub.

Used by `/v1/changes` and by the live page. A stream that did not end itself at shutdown would hold
the process for the whole of its grace period.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from starlette.requests import Request

from hub.api.limits import spend
from hub.api.policy import hub_of
from hub.services.access.credentials import Principal
from hub.services.context.hub import Hub
from hub.store.feed import Change, Subscription
from shared.errors import Rejected
from shared.reject_codes import RejectCode

T = TypeVar("T")


def count_stream(request: Request, who: Principal) -> Counter[str]:
    """Open streams by principal's id. Raises Rejected: TooManyStreams, TooManyRequests."""
    hub = hub_of(request)
    spend(hub, who, "streams")
    limit = hub.settings.api.streams_per_principal
    state = request.app.state
    if not hasattr(state, "streams"):
        state.streams = Counter()
    streams: Counter[str] = state.streams
    if streams[who.id] >= limit:
        said = f"{streams[who.id]} streams are open; close some"
        raise Rejected(RejectCode.TOO_MANY_STREAMS, said)
    return streams


async def counted(streams: Counter[str], who: str, events: AsyncIterator[T]) -> AsyncIterator[T]:
    """`events`, counted as one open stream of `who` for as long as it lasts."""
    streams[who] += 1
    try:
        async for event in events:
            yield event
    finally:
        streams[who] -= 1


async def hear(hub: Hub, feed: Subscription, timeout_s: float) -> bool:
    """Wait for the next change: was there one? Returns at once when the hub closes."""
    return await heard(hub, feed, timeout_s) is not None


async def heard(hub: Hub, feed: Subscription, timeout_s: float) -> Change | None:
    """The next change; None if there was none in time, or the hub closes."""
    return await _first(hub, feed.get(), timeout_s)


async def rest(hub: Hub, seconds: float) -> None:
    """Wait that long, or until the hub closes."""
    await _first(hub, asyncio.Event().wait(), seconds)


async def _first(hub: Hub, awaited: Awaitable[T], timeout_s: float) -> T | None:
    """The result of `awaited` within that time, before the hub closed; else None."""
    wanted = asyncio.ensure_future(awaited)
    closing = asyncio.ensure_future(hub.closing.wait())
    try:
        done, _ = await asyncio.wait(
            {wanted, closing}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        return wanted.result() if wanted in done else None
    finally:
        wanted.cancel()
        closing.cancel()

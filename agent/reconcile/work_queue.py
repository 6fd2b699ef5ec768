"""The queue of uids to decide: at once, or batched with further observations."""

import asyncio
from collections.abc import AsyncIterator

from shared.clock import Clock

_BURST = 200  # uids decided about before the event loop gets a turn
_COALESCE_S = 0.01  # after a burst
# What was seen is decided about twenty times a second at most: events that come together cost one decision.
_SEEN_S = 0.05


class WorkQueue:
    """An ordered set of uids, taken in bursts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now: dict[str, None] = {}
        self._kick = asyncio.Event()
        self._soon: dict[str, None] = {}
        self._soon_set = asyncio.Event()

    def mark(self, uid: str) -> None:
        """Decide about this uid at once."""
        self._now[uid] = None
        self._kick.set()

    def mark_soon(self, uid: str) -> None:
        """Decide about this uid with what else is seen of it within a moment."""
        if not self._soon:
            self._soon_set.set()
        self._soon[uid] = None

    async def gather(self) -> None:
        """Let what is to be decided about soon become due, until cancelled."""
        while True:
            await self._soon_set.wait()
            self._soon_set.clear()
            await self._clock.sleep(_SEEN_S)
            self._now.update(self._soon)
            self._soon.clear()
            self._kick.set()

    async def bursts(self) -> AsyncIterator[list[str]]:
        """Due steps, in bursts, until cancelled."""
        while True:
            await self._kick.wait()
            self._kick.clear()
            burst = list(self._now)[:_BURST]
            for uid in burst:
                self._now.pop(uid, None)
            yield burst
            if self._now:
                self._kick.set()
            await self._clock.sleep(_COALESCE_S)

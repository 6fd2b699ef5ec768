"""Has a uid decided about at an instant: back-offs, times to live, the lease. One task for any number."""

import asyncio
import heapq
from collections.abc import Callable

from shared.clock import Clock


class Timers:
    """A heap of (monotonic instant, uid). Setting the same uid again adds a ring, and harms nothing."""

    def __init__(self, clock: Clock, ring: Callable[[str], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._heap: list[tuple[float, str]] = []
        self._set: set[tuple[float, str]] = set()
        self._earlier = asyncio.Event()

    def set(self, instant: float, uid: str) -> None:
        """Ring for this uid at that instant, once."""
        if (instant, uid) in self._set:
            return
        self._set.add((instant, uid))
        heapq.heappush(self._heap, (instant, uid))
        if self._heap[0] == (instant, uid):
            self._earlier.set()

    async def run(self) -> None:
        """Ring until cancelled."""
        while True:
            self._earlier.clear()
            self._ring_due()
            if not self._heap:
                await self._earlier.wait()
                continue
            left = self._heap[0][0] - self._clock.monotonic()
            sleep = asyncio.ensure_future(self._clock.sleep(left))
            earlier = asyncio.ensure_future(self._earlier.wait())
            try:
                await asyncio.wait({sleep, earlier}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                sleep.cancel()
                earlier.cancel()

    def _ring_due(self) -> None:
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            instant, uid = heapq.heappop(self._heap)
            self._set.discard((instant, uid))
            self._ring(uid)

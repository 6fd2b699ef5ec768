"""The work queue of a simulated cluster's behaviours: queues and one timer heap.

Each behaviour owns a `WorkList` of keys; a key is in it once however often it was added. Deadlines
of all behaviours share one heap and one sleeping task per cluster, and are rounded up to a small
grid, so that thousands of pods which end together cost one wake-up.
"""

import asyncio
import datetime as dt
import heapq
import itertools
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import structlog

from shared.clock import Clock

GRID_MS = 20
MOST_PER_PASS = 250  # keys that one behaviour visits before others, and requests, have their turn
_EARLY_S = 0.001  # a sleep may end a hair before its deadline
_RETRY_S = 2.0

_log = structlog.get_logger(__name__)
K = TypeVar("K", bound=Hashable)


def seconds(now: dt.datetime) -> float:
    """An instant as the behaviours count: seconds since 1970."""
    return now.timestamp()


class Agenda:
    """The deadlines of one cluster's behaviours, and the bell that starts their next pass."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, WorkList[Any], Hashable]] = []
        self._order = itertools.count()
        self._bell = asyncio.Event()
        self._alarm: asyncio.Task[None] | None = None
        self._armed_for = 0.0

    def ring(self) -> None:
        """Ask for a pass as soon as the event loop gets to it."""
        self._bell.set()

    def at(self, when: float, work: "WorkList[K]", key: K) -> None:
        """Add `key` to `work` at `when` (seconds since 1970), rounded up to the grid."""
        slot = -(-round(when * 1000) // GRID_MS) * GRID_MS / 1000
        heapq.heappush(self._heap, (slot, next(self._order), work, key))
        if self._alarm is not None and slot < self._armed_for:
            self.ring()

    def release_due(self, now: float) -> None:
        """Move every key whose time has come to its work list."""
        heap = self._heap
        while heap and heap[0][0] <= now + _EARLY_S:
            _, _, work, key = heapq.heappop(heap)
            work.add(key)

    async def wait(self) -> None:
        """Return when there may be something to do."""
        if self._heap:
            self._arm(self._heap[0][0])
        await self._bell.wait()
        self._bell.clear()

    def close(self) -> None:
        """Stop the alarm."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _arm(self, when: float) -> None:
        if self._alarm is not None and not self._alarm.done():
            if self._armed_for <= when:
                return
            self._alarm.cancel()
        self._armed_for = when
        delay = max(0.0, when - seconds(self._clock.now()))
        self._alarm = asyncio.get_running_loop().create_task(self._sleep(delay))

    async def _sleep(self, delay: float) -> None:
        await self._clock.sleep(delay)
        self.ring()


class WorkList(Generic[K]):
    """Keys to look at, each once, first come first served.

    `on_fault` is called with a key whose visit raised, so that the cluster's users see it too.
    """

    def __init__(
        self, agenda: Agenda, on_fault: Callable[[K, Exception], None] | None = None
    ) -> None:
        self._agenda = agenda
        self._on_fault = on_fault
        self._keys: dict[K, None] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: K) -> None:
        """Look at `key` in the next pass."""
        if key not in self._keys:
            self._keys[key] = None
            self._agenda.ring()

    def drop(self, key: K) -> None:
        """Forget `key`, if it is there."""
        self._keys.pop(key, None)

    def add_at(self, key: K, when: float) -> None:
        """Look at `key` at `when`, in seconds since 1970."""
        self._agenda.at(when, self, key)

    def each(self, visit: Callable[[K], None], now: float, limit: int = MOST_PER_PASS) -> None:
        """Visit up to `limit` keys. One that cannot be dealt with is logged and comes again later."""
        for key in self._take(limit):
            try:
                visit(key)
            except Exception as fault:  # noqa: BLE001 - one poison object must not stop the others
                self._put_off(key, fault, now)

    def _put_off(self, key: K, fault: Exception, now: float) -> None:
        _log.error("object_not_dealt_with", key=str(key), exc_info=fault)
        self.add_at(key, now + _RETRY_S)
        if self._on_fault is not None:
            self._on_fault(key, fault)

    def _take(self, limit: int) -> list[K]:
        if len(self._keys) <= limit:
            taken = list(self._keys)
            self._keys.clear()
            return taken
        taken = list(itertools.islice(self._keys, limit))
        for key in taken:
            del self._keys[key]
        self._agenda.ring()
        return taken

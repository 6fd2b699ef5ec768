"""The only place that reads the time or sleeps.

Code that decides takes `now` as an argument; loops hold a `Clock`. `ManualClock` lets a test move
time by hand: sleepers wake when it is advanced past their deadline, in deadline order.
"""

import asyncio
import datetime as dt
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

# Continues while the machine is suspended, like leases held elsewhere; CLOCK_MONOTONIC stops.
_SINCE_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Wall time for stamps, monotonic time for durations, and sleep."""

    def now(self) -> dt.datetime:
        """The current instant, timezone-aware UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary origin, never going back; time in which the machine slept counts."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        return time.clock_gettime(_SINCE_BOOT)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


class SteadyClock:
    """Another clock whose wall time makes no steps.

    Spans between stamps are then real spans: a machine whose time is set by an hour ends no job whose
    time is limited and loses no cluster. The wall time of `base` is followed, `SLEW` faster or slower
    than time passes, and never backwards. A new process begins with what `base` says.
    """

    SLEW: Final = 0.05

    def __init__(self, base: Clock) -> None:
        self._base = base
        self._lock = threading.Lock()  # transactions read it from their own threads
        self._now, self._at = base.now(), base.monotonic()

    def now(self) -> dt.datetime:
        with self._lock:
            at, wall = self._base.monotonic(), self._base.now()
            passed = max(0.0, at - self._at)
            steady = self._now + dt.timedelta(seconds=passed)
            most = passed * self.SLEW
            off = (wall - steady).total_seconds()
            self._now = steady + dt.timedelta(seconds=min(max(off, -most), most))
            self._at = at
            return self._now

    def monotonic(self) -> float:
        return self._base.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._base.sleep(seconds)


class AgreedClock:
    """Wall time as somebody tells it whom several processes ask, steady in between.

    The first word is believed at once, later ones are followed as `SteadyClock` follows: what a process
    stamps is then of one time with what the others stamp, however their machines' clocks are set.
    """

    def __init__(self, base: Clock) -> None:
        self._base = base
        self._ahead = dt.timedelta()
        self._learnt = False
        self._steady = SteadyClock(_Shifted(base, self._told))

    def learn(self, now: dt.datetime) -> None:
        """It is `now`."""
        self._ahead = now - self._base.now()
        if not self._learnt:
            self._learnt = True
            self._steady = SteadyClock(_Shifted(self._base, self._told))

    def _told(self) -> dt.timedelta:
        return self._ahead

    def now(self) -> dt.datetime:
        return self._steady.now()

    def monotonic(self) -> float:
        return self._base.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._base.sleep(seconds)


class _Shifted:
    """Another clock's time, and so much."""

    def __init__(self, base: Clock, ahead: Callable[[], dt.timedelta]) -> None:
        self._base = base
        self._ahead = ahead

    def now(self) -> dt.datetime:
        return self._base.now() + self._ahead()

    def monotonic(self) -> float:
        return self._base.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._base.sleep(seconds)


class ManualClock:
    """A clock that moves only by `advance`."""

    def __init__(self, start: dt.datetime | None = None) -> None:
        self._start = start or dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> dt.datetime:
        return self._start + dt.timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        deadline = self._elapsed + max(0.0, seconds)
        if deadline <= self._elapsed:
            await asyncio.sleep(0)
            return
        heapq.heappush(self._sleepers, (deadline, next(self._order), future))
        await future

    def advance(self, seconds: float) -> None:
        """Move time forward by `seconds` and wake the sleepers whose deadline has passed."""
        self._elapsed += seconds
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

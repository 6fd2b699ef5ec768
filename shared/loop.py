"""The one loop of every controller: tick, wait for news or for the next turn, back off after a fault, stop.

A controller is what a tick does; when it runs, how it survives and how it ends is written here once.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from shared import retry
from shared.clock import Clock

_log = structlog.get_logger()

_REST = 2  # times what a turn took
_SHOWN_FRAMES = 4

Tick = Callable[[], Awaitable[float | None]]
Observer = Callable[[str, float, BaseException | None], None]


def unobserved(name: str, seconds: float, fault: BaseException | None) -> None:
    """No-op meter."""


def log_failure(loop: str, times: int, fault: BaseException) -> None:
    """Log a turn that failed, the `times`-th one after the other, with the lines of code."""
    text = f"{type(fault).__name__}: {fault}"[:500]
    _log.warning("turn failed", loop=loop, times=times, fault=text, at=place_of(fault))


def place_of(fault: BaseException) -> str:
    """The innermost lines of code that a fault passed, the last first: `commit.py:84 < turn.py:244`."""
    frames = traceback.extract_tb(fault.__traceback__)[-_SHOWN_FRAMES:]
    return " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in reversed(frames))


class Loop:
    """Runs `tick` at least every `every_s`, sooner when woken, never within `least_s` of the last turn.

    After a long turn it rests twice as long as the turn took, at most `most_rest_s`: a busy loop leaves
    two thirds of the time to others and finds more to do at once.
    A tick may return the seconds until it wants the next turn (0: at once). An exception in a tick
    ends that turn only: the loop backs off and goes on. `observe` is called after each turn: the loop's
    name, the seconds it took, and its exception.
    """

    def __init__(
        self,
        name: str,
        tick: Tick,
        clock: Clock,
        *,
        every_s: float,
        least_s: float = 0.0,
        most_rest_s: float = 0.0,
        observe: Observer = unobserved,
    ) -> None:
        self.name = name
        self._tick = tick
        self._clock = clock
        self._every_s = every_s
        self._least_s = least_s
        self._most_rest_s = most_rest_s
        self._observe = observe
        self._news = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """There is news: take the next turn as soon as it may be."""
        self._news.set()

    def stop(self) -> None:
        """End after the present turn."""
        self._stopping = True
        self._news.set()

    async def run(self) -> None:
        """Take turns until stopped or cancelled."""
        again = retry.retrying(self._clock, before_wait=self._failed)
        while True:
            wanted, took = await again(self._turn)
            if self._stopping:
                return
            rest = min(_REST * took, self._most_rest_s)
            await self._clock.sleep(max(rest, self._least_s - took, 0.0))
            if wanted is None:
                wanted = retry.jittered(self._every_s)
            if wanted > 0:
                await self._wait(wanted)

    async def _turn(self) -> tuple[float | None, float]:
        """The result of the tick, and the seconds it took."""
        if self._stopping:
            return None, 0.0
        self._news.clear()
        started = self._clock.monotonic()
        try:
            wanted = await self._tick()
        except Exception as fault:
            self._observe(self.name, self._clock.monotonic() - started, fault)
            raise
        took = self._clock.monotonic() - started
        self._observe(self.name, took, None)
        return wanted, took

    def _failed(self, times: int, fault: BaseException, _wait_s: float) -> None:
        log_failure(self.name, times, fault)

    async def _wait(self, seconds: float) -> None:
        """Until there is news, at most `seconds`."""
        news = asyncio.ensure_future(self._news.wait())
        timer = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait({news, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
            timer.cancel()

"""Clocks that tests move."""

import datetime as dt

from shared.clock import ManualClock
from tests import waiting


class SetClock(ManualClock):
    """A machine's clock that somebody sets: its wall time makes steps, its monotonic time does not."""

    def __init__(self) -> None:
        super().__init__()
        self._off = dt.timedelta()

    def set_forward(self, seconds: float) -> None:
        """Set the wall clock forward, or back."""
        self._off += dt.timedelta(seconds=seconds)

    def now(self) -> dt.datetime:
        return super().now() + self._off


class InstantClock(ManualClock):
    """A clock for loops that would wait: time goes on at once."""

    async def sleep(self, seconds: float) -> None:
        """The time is over, and others have had a turn."""
        self.advance(seconds)
        await waiting.turns()

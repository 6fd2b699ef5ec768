"""Clocks that tests move."""

import datetime as dt

from shared.clock import ManualClock


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

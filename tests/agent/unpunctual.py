"""A clock for loops that would wait: time goes on at once."""

import asyncio

from shared.clock import ManualClock


class Unpunctual(ManualClock):
    """Waits for nothing."""

    async def sleep(self, seconds: float) -> None:
        """The time is over, and others have had a turn."""
        self.advance(seconds)
        await asyncio.sleep(0)

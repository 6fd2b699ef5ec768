"""Re-encrypts the store in the background after a key change, on the leader.

At the end it logs that: from then on older keys can be removed from the file.
"""

from collections.abc import Callable
from typing import Final

import structlog

from hub.controllers.lease import NOT_LEADING
from hub.services.access import resealing
from hub.services.context.hub import Hub
from shared.loop import Loop, Observer, unobserved

_EVERY_S: Final = 30.0
_LEAST_S: Final = 0.02  # between two steps: others write too
_logger = structlog.get_logger(__name__)


class Resealing:
    """One turn: is anything due? Then a step, and the next at once."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        self._hub = hub
        self._term = term
        self._place = resealing.START
        self._changed = 0
        self.loop = Loop(
            "resealing", self.tick, hub.clock, every_s=_EVERY_S, least_s=_LEAST_S, observe=observe
        )

    async def run(self) -> None:
        """Until cancelled."""
        await self.loop.run()

    async def tick(self) -> float | None:
        """One turn; 0 to take the next at once."""
        if not await self._hub.read(resealing.is_due):
            self._place, self._changed = resealing.START, 0
            return None
        term = self._term()
        if term == NOT_LEADING:
            return None
        step = await self._hub.write(resealing.take_step, self._place, term)
        self._changed += step.changed
        for each in step.unreadable:
            _logger.error("a secret does not open, and stays as it is", row=each)
        if step.next is not None:
            self._place = step.next
            return 0.0
        await self._hub.write(resealing.finish, term)
        _logger.info("secrets are under the first key; older ones can go", rows=self._changed)
        self._place, self._changed = resealing.START, 0
        return None

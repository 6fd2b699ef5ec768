"""Takes old rows away, a few thousand at a time, while this process leads."""

from collections.abc import Callable

from hub.controllers.lease import NOT_LEADING
from hub.services.context.hub import Hub
from hub.services.jobs import retention
from shared.loop import Loop, Observer, unobserved


class Expiry:
    """One turn: every step once; again at once while a step had more to do."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        self._hub = hub
        self._term = term
        every_s = hub.settings.retention.every_s
        self.loop = Loop("expiry", self.tick, hub.clock, every_s=every_s, observe=observe)

    async def run(self) -> None:
        """Until cancelled."""
        await self.loop.run()

    async def tick(self) -> float | None:
        """One turn; 0 to take the next at once."""
        term = self._term()
        if term == NOT_LEADING:
            return None
        more, left = False, retention.STEPS
        while left:
            taken = await self._hub.write(retention.take_steps, left, self._hub.settings, term)
            more, left = more or taken.more, left[taken.steps :]
        return 0.0 if more else None

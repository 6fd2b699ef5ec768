"""Looks for flavors that no node carries, while this process leads: few seconds are soon enough."""

from collections.abc import Callable
from typing import Final

from hub.controllers.lease import NOT_LEADING
from hub.services.context.hub import Hub
from hub.services.index.index import ScheduleIndex
from hub.services.queues import unreachable_flavors
from shared.loop import Loop, Observer, unobserved

EVERY_S: Final = 5.0


class FlavorReach:
    """`index`: the scheduler's, which follows members and flavors."""

    def __init__(
        self,
        hub: Hub,
        term: Callable[[], int],
        index: Callable[[], ScheduleIndex],
        observe: Observer = unobserved,
    ) -> None:
        self._hub = hub
        self._term = term
        self._index = index
        self._said: dict[str, str] | None = None
        self.loop = Loop("flavor-reach", self.tick, hub.clock, every_s=EVERY_S, observe=observe)

    async def run(self) -> None:
        """Until cancelled."""
        await self.loop.run()

    async def tick(self) -> None:
        """One look; a transaction only where something has changed."""
        term, index = self._term(), self._index()
        if term == NOT_LEADING:
            self._said = None
            return
        found = unreachable_flavors.unreachable(
            index.routes.flavors.values(),
            list(index.members.clusters.values()),
            index.keys.since,
        )
        if found != self._said:
            await self._hub.write(unreachable_flavors.note, found, term)
            self._said = found

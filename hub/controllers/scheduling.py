"""The scheduling controller: follows the feed, and lets the scheduler take a turn when there is news.

Every hub follows, to say what waits where; the one that leads takes turns. Its first one comes after
everything that the leader before it committed has been followed: the lease is taken in a transaction of
its own, and what this process has heard of the feed by then is all there was.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from hub.controllers.lease import NOT_LEADING
from hub.services.context.hub import Hub
from hub.services.index.reader import FOLLOWED
from hub.services.scheduling import stalls
from hub.services.scheduling.turn import Scheduler
from hub.services.works import counters
from hub.store.errors import StaleTerm, StoreError
from hub.store.feed import Subscription
from shared.loop import Loop, Observer, unobserved

EVERY_S: Final = 1.0  # heartbeats and back-offs enter no feed
LEAST_S: Final = 0.2  # what arrives together goes into one cycle
MOST_REST_S: Final = 0.2  # under load cycles come less often and decide more: a third less CPU


class SchedulingController:
    """Schedules while this process leads. `scheduler.index` also answers positions and reasons."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        self.scheduler = Scheduler(hub, term)
        self.loop = Loop(
            "scheduling",
            self.tick,
            hub.clock,
            every_s=EVERY_S,
            least_s=LEAST_S,
            most_rest_s=MOST_REST_S,
            observe=observe,
        )
        self._hub = hub
        self._term = term
        self._feed: Subscription | None = None
        self._failures = 0  # turns that failed one after the other
        self._recorded = (
            True  # the store may say that turns fail: another leader may have written it
        )

    async def run(self) -> None:
        """Until cancelled or the loop is stopped."""
        self._feed = feed = self._hub.subscribe(*FOLLOWED)
        watching = asyncio.ensure_future(self._watch())
        try:
            await self.loop.run()
        finally:
            watching.cancel()
            feed.close()

    async def _watch(self) -> None:
        """Wake the loop; it reads new commits itself."""
        news = self._hub.subscribe(*FOLLOWED)
        try:
            async for _ in news:
                self.loop.wake()
        finally:
            news.close()

    async def _failed(self, fault: Exception) -> None:
        self._failures += 1
        if self._failures == stalls.TOLD_AFTER:
            self._recorded = True
            with suppress(StoreError):  # where no write is possible, doctor finds that
                await self._hub.write(stalls.record, f"{type(fault).__name__}: {fault}")

    async def _succeeded(self) -> None:
        if self._recorded:
            await self._hub.write(stalls.clear)
        self._failures, self._recorded = 0, False

    async def tick(self) -> float | None:
        """Follow; and take a turn, if this process leads and may decide."""
        may_decide = self._term() != NOT_LEADING and not self._hub.stopped
        feed = self._feed
        change = feed.take() if feed is not None else None
        revision = feed.revision if feed is not None else 0
        scheduler = self.scheduler
        try:
            if not scheduler.loaded:
                await scheduler.load()
            else:
                await scheduler.follow(change.keys if change is not None else {}, revision)
            more = may_decide and await scheduler.turn()
        except BaseException as fault:
            scheduler.loaded = False
            if may_decide and isinstance(fault, Exception) and not isinstance(fault, StaleTerm):
                await self._failed(fault)
            raise
        if may_decide:
            counters.cycle()
            await self._succeeded()
        else:
            self._recorded = True  # whoever leads meanwhile may write it
        return 0.0 if more else None

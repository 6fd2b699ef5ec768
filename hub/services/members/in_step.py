"""Keeps what a process remembers in step with the store, and knows how far it has come.

Several hubs write to one store: what another one told an agent may not have come here yet. Every answer to
that agent waits for it first, so that no answer is older than the agent's state.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from hub.store import changes as store_changes
from hub.store.engine import Database
from hub.store.errors import StoreUnavailable
from hub.store.feed import Change, Subscription
from shared.clock import Clock

# How long a request waits for what another hub has committed.
LATE_S: Final = 5.0


class InStep:
    """Follows the feed of `kinds`."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._changes: Subscription | None = None
        self._under_way = False
        self._revision = 0  # that was followed last
        self._stepped = asyncio.Event()

    def begin(self, *kinds: str) -> Subscription:
        """From here on nothing is missed."""
        self._changes = self._db.subscribe(*kinds)
        return self._changes

    async def follow(
        self, changes: Subscription, take: Callable[[Change], Awaitable[object]]
    ) -> None:
        """Hand each change to `take`, until cancelled."""
        async for change in changes:
            await self.step(change, take)

    async def step(self, change: Change, take: Callable[[Change], Awaitable[object]]) -> None:
        """Hand one change to `take`."""
        self._under_way = True
        await take(change)
        self._under_way, self._revision = False, change.revision
        self._stepped.set()

    @property
    def revision(self) -> int:
        """Everything up to this one has been followed."""
        if self._changes is not None and self._changes.is_empty and not self._under_way:
            return self._db.revision
        return self._revision

    async def reach(self, revision: int) -> None:
        """Wait until `revision` has been followed, if the store itself has come so far.

        Raises StoreUnavailable: it takes too long.
        """
        if self.revision >= revision:
            return
        everything = self._db.subscribe()
        late = asyncio.ensure_future(self._clock.sleep(LATE_S))
        try:
            if await self._db.read(store_changes.last_revision) < revision:
                return
            while self.revision < revision:
                if late.done():
                    raise StoreUnavailable("this hub has not yet read the commits of another one")
                await self._news(everything, late)
        finally:
            everything.close()
            late.cancel()

    async def _news(self, everything: Subscription, late: asyncio.Future[None]) -> None:
        """Wait until more was committed or followed, or it is `late`."""
        self._stepped.clear()
        committed = asyncio.ensure_future(everything.get())
        followed = asyncio.ensure_future(self._stepped.wait())
        try:
            await asyncio.wait((committed, followed, late), return_when=asyncio.FIRST_COMPLETED)
        finally:
            committed.cancel()
            followed.cancel()

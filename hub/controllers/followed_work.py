"""A loop of the leader that keeps in memory what is open, and learns from the feed what was touched.

Jobs with dependents and CronJobs are followed so: what nothing has touched costs nothing. A new leader, and
one whose turn failed, reads all again.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Final

from hub.controllers.lease import NOT_LEADING
from hub.services.context.hub import Hub
from hub.store.feed import Subscription
from shared.loop import Loop, Observer, unobserved

EVERY_S: Final = 1.0
LEAST_S: Final = 0.05


class FollowedWork(abc.ABC):
    """One turn: what was touched since the turn before. Between transactions others have their turn.

    `tables`: the controller hears their changes.
    """

    def __init__(
        self,
        name: str,
        tables: tuple[str, ...],
        hub: Hub,
        term: Callable[[], int],
        observe: Observer = unobserved,
    ) -> None:
        self._hub = hub
        self._term = term
        self._tables = tables
        self._open: set[str] = set()  # still to be looked at
        self._loaded_for = NOT_LEADING  # the term for which all was read
        self._feed: Subscription | None = None
        self.loop = Loop(
            name, self.tick, hub.clock, every_s=EVERY_S, least_s=LEAST_S, observe=observe
        )

    async def run(self) -> None:
        """Until cancelled or the loop is stopped."""
        self.follow()
        try:
            await self.loop.run()
        finally:
            self._feed = None

    def follow(self) -> None:
        """Hear of what is committed from now on."""
        self._feed = self._hub.subscribe(*self._tables)

    async def tick(self) -> float | None:
        """One turn; 0 to take the next at once."""
        term = self._term()
        if term == NOT_LEADING or self._hub.stopped:
            self._loaded_for = NOT_LEADING
            self._take()
            return None
        try:
            await self._look(term)
            more = await self._decide(term)
        except BaseException:
            self._loaded_for = NOT_LEADING  # what was done may or may not be written
            raise
        return 0.0 if more else None

    def _take(self) -> Mapping[str, frozenset[str]]:
        """The touched keys, by table. Take them before a read: the next turn has later changes."""
        change = self._feed.take() if self._feed is not None else None
        return {} if change is None else change.keys

    def _part(self, most: int) -> list[str]:
        """Some of what is open, which is open no longer."""
        return [self._open.pop() for _ in range(min(most, len(self._open)))]

    @abc.abstractmethod
    async def _look(self, term: int) -> None:
        """Find what is open; all of it where `_loaded_for` is another term."""

    @abc.abstractmethod
    async def _decide(self, term: int) -> bool:
        """Decide a part of what is open; True if there is more."""

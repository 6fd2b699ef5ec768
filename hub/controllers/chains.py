"""Lets jobs go once those have ended that they wait for, while this process leads.

It follows the feed and keeps the awaited jobs in memory: a job without dependents costs nothing here,
however many end. A new leader reads them again, and finds undecided ones.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Final

from hub.controllers.lease import NOT_LEADING
from hub.services.chains import settle
from hub.services.chains.bind import PATIENCE
from hub.services.context.hub import Hub
from hub.store.feed import Subscription
from shared.loop import Loop, Observer, unobserved

EVERY_S: Final = 1.0  # interval of the checks for awaited names
LEAST_S: Final = 0.05
PART: Final = 500  # jobs in one query
_FOLLOWED: Final = ("workloads", settle.LINKS)


class Chains:
    """One turn: the awaited jobs that were touched. Between transactions others have their turn."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        self._hub = hub
        self._term = term
        self._awaited: set[str] = set()
        self._loaded_for = NOT_LEADING  # the term for which that was read
        self._since = (0.0, hub.clock.now())  # when it began to lead: monotonic, and by the clock
        self._open: set[str] = set()  # still to be checked
        self._feed: Subscription | None = None
        self.loop = Loop(
            "chains", self.tick, hub.clock, every_s=EVERY_S, least_s=LEAST_S, observe=observe
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
        self._feed = self._hub.subscribe(*_FOLLOWED)

    async def tick(self) -> float | None:
        """One turn; 0 to take the next at once."""
        term = self._term()
        if term == NOT_LEADING or self._hub.stopped:
            self._loaded_for = NOT_LEADING
            self._take()
            return None
        try:
            await self._look(term)
            more = await self._settle(term)
        except BaseException:
            self._loaded_for = NOT_LEADING  # what was done may or may not be written
            raise
        return 0.0 if more else None

    def _late(self) -> dt.datetime | None:
        """The time up to which names were awaited in vain: each leader counts again, without a clock."""
        began, at = self._since
        counted = dt.timedelta(seconds=self._hub.clock.monotonic() - began)
        return at + counted if counted >= PATIENCE else None

    def _take(self) -> Mapping[str, frozenset[str]]:
        change = self._feed.take() if self._feed is not None else None
        return {} if change is None else change.keys

    async def _look(self, term: int) -> None:
        """The awaited jobs, and those of them that were touched."""
        touched = self._take()  # before it is read: later changes are checked again
        if self._loaded_for != term:
            self._awaited = set(await self._hub.read(settle.awaited))
            self._open = set(self._awaited)
            self._loaded_for = term
            self._since = self._hub.clock.monotonic(), self._hub.clock.now()
        elif new := touched.get(settle.LINKS):
            found = await self._hub.read(settle.awaited_by, new)
            self._awaited |= found
            self._open |= found
        self._open |= touched.get("workloads", frozenset()) & self._awaited

    async def _settle(self, term: int) -> bool:
        """Decide what can be; True if there is more."""
        more = False
        if "" in self._awaited:
            late = self._late()
            due = await self._hub.read(settle.names_due, late)
            if due is None:
                self._awaited.discard("")
            elif due:
                more = (await self._hub.write(settle.bind_names, term, late)).more
        self._open.discard("")
        if not self._open:
            return more
        part = [self._open.pop() for _ in range(min(PART, len(self._open)))]
        over = await self._hub.read(settle.ended, part)
        while over and (await self._hub.write(settle.settle, over, term)).more:
            await self._hub.clock.sleep(0)
        self._awaited.difference_update(over)
        return more or bool(self._open)

"""Lets jobs go once those have ended that they wait for, while this process leads.

It follows the feed and keeps the awaited jobs in memory: a job without dependents costs nothing here,
however many end. A new leader reads them again, and finds undecided ones.
"""

import datetime as dt
from collections.abc import Callable
from typing import Final

from hub.controllers.followed_work import FollowedWork
from hub.services.chains import settle
from hub.services.chains.bind import PATIENCE
from hub.services.context.hub import Hub
from shared.loop import Observer, unobserved

PART: Final = 500  # jobs in one query
_FOLLOWED: Final = ("workloads", settle.LINKS)


class Chains(FollowedWork):
    """One turn: the awaited jobs that were touched."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        super().__init__("chains", _FOLLOWED, hub, term, observe)
        self._awaited: set[str] = set()
        self._since = (0.0, hub.clock.now())  # when it began to lead: monotonic, and by the clock

    def _late(self) -> dt.datetime | None:
        """The time up to which names were awaited in vain: each leader counts again, without a clock."""
        began, at = self._since
        counted = dt.timedelta(seconds=self._hub.clock.monotonic() - began)
        return at + counted if counted >= PATIENCE else None

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

    async def _decide(self, term: int) -> bool:
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
        part = self._part(PART)
        over = await self._hub.read(settle.ended, part)
        while over and (await self._hub.write(settle.settle, over, term)).more:
            await self._hub.clock.sleep(0)
        self._awaited.difference_update(over)
        return more or bool(self._open)

"""Watches over time: ends workloads that run too long, takes back those whose pods are not ready.

A hub's own absence does not count against pods: the clock of readiness starts when this process leads.
"""

import datetime as dt
from collections.abc import Callable
from typing import Final

from hub.controllers.last_down import LastDown
from hub.controllers.lease import NOT_LEADING, Tenure
from hub.services.context.hub import Hub
from hub.services.members import deadlines
from hub.services.members.verdicts import api_server
from shared.loop import Loop, Observer, unobserved

EVERY_S: Final = 2.0  # at most so late a limit takes effect


class Lifetimes:
    """One turn: one query per rule, a write only for affected jobs."""

    def __init__(
        self,
        hub: Hub,
        term: Callable[[], int],
        last_down: LastDown,
        observe: Observer = unobserved,
    ) -> None:
        self._hub = hub
        self._term = term
        self._tenure = Tenure(hub)
        self._last_down = last_down
        self.loop = Loop("lifetimes", self.tick, hub.clock, every_s=EVERY_S, observe=observe)

    async def run(self) -> None:
        """Until cancelled."""
        await self.loop.run()

    async def tick(self) -> float | None:
        """One turn; the seconds until the next limit falls due, if that is soon."""
        term = self._term()
        self._tenure.begins(term)
        if term == NOT_LEADING:
            return None
        over, soonest = await self._hub.read(deadlines.overrun)
        if over:
            await self._hub.write(deadlines.end_overrun, over, term)
        given = self._hub.settings.queueing
        shortest = given.pods_ready_timeout_s, deadlines.recovery_timeout_s(given)
        if any(seconds > 0 for seconds in shortest):
            down = await self._hub.read(api_server.unhealthy)
            self._last_down.note(down, self._hub.clock.now())
        if any(self._may_judge(seconds) for seconds in shortest):
            unready = await self._hub.read(deadlines.unready, given, self._last_down.at)
            if unready:
                await self._hub.write(deadlines.take_back_unready, given, term, self._last_down.at)
        return None if soonest is None or soonest > EVERY_S else max(soonest, 0.05)

    def _may_judge(self, seconds: float) -> bool:
        """Is this timeout set, and has this process led for as long?"""
        away = dt.timedelta(seconds=min(seconds, 60.0))
        return seconds > 0 and self._hub.clock.now() - self._tenure.since >= away

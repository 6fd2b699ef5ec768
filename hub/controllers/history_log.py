"""Writes what was decided to the hub's log: a line for each event of the history, while this process leads.

It follows commits, a second behind and off the path of jobs, so that no line reports an uncommitted
change. A burst is logged in part, with the number of omitted lines; the store has all of it.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from hub.controllers.lease import NOT_LEADING
from hub.services.context.hub import Hub
from hub.services.questions.history import NewHistory, history_from_now, history_since
from hub.store.records.history import StoredEvent
from shared.loop import Loop, Observer, unobserved

EVERY_S: Final = 1.0
MOST: Final = 50  # lines of a turn: each costs 0.1 ms, and ten jobs a second say as many
log = structlog.get_logger("hub.history")


class HistoryLog:
    """One turn: what is new since the last one."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        self._hub = hub
        self._term = term
        self._told: NewHistory | None = None
        self._revision = -1  # of the store, as of the last look: no event comes without another
        self.loop = Loop("history-log", self.tick, hub.clock, every_s=EVERY_S, observe=observe)

    async def run(self) -> None:
        """Until cancelled."""
        await self.loop.run()

    async def tick(self) -> float | None:
        """One turn. The first after it began to lead tells nothing: another hub's log has that."""
        if self._term() == NOT_LEADING:
            self._told = None
        elif self._told is None:
            self._told = await self._hub.read(history_from_now)
        elif (revision := self._hub.db.revision) != self._revision:
            self._told = await self._hub.read(history_since, self._told, MOST)
            self._revision = revision
            if self._told.events:
                await asyncio.to_thread(_tell, self._told.events, self._told.left_out)
        return None


def _tell(told: Sequence[StoredEvent], left_out: int) -> None:
    for each in told:
        say = log.warning if each.type == "Warning" else log.info
        say(
            each.reason,
            kind=each.kind,
            namespace=each.namespace,
            name=each.name,
            uid=each.uid,
            message=each.message.partition("\n")[0],  # the others are of a container's log
            at=each.at.isoformat(),
        )
    if left_out:
        log.info(
            "HistoryLeftOut", count=left_out, meaning="more than a log takes: the store has it"
        )

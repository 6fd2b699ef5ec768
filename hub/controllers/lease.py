"""Holds the leader's lease and knows its term; controllers name the term in every transaction.

One hub alone on its store leads at once. Of several the first to ask leads, until it releases the lease,
or has not renewed it for its duration: a process that was paused finds in its next transaction that its
term has ended.
"""

import datetime as dt

from hub.services.context import leadership
from hub.services.context.hub import Hub
from hub.services.context.listening import Listening
from shared.loop import Loop

NOT_LEADING = 0


class Lease:
    """`await start()` before any controller runs, then `run()` keeps the lease."""

    def __init__(self, hub: Hub, holder: str) -> None:
        self._hub = hub
        self._holder = holder
        self._term = NOT_LEADING
        self._renewed_at = 0.0
        every_s = leadership.EVERY_S if hub.db.shared else leadership.TTL.total_seconds() / 3
        self.loop = Loop("lease", self._tick, hub.clock, every_s=every_s)

    def term(self) -> int:
        """The term this process leads under; `NOT_LEADING` when it does not.

        A lease that could not be renewed in time is no longer believed in.
        """
        if self._hub.db.shared and self._is_over():
            return NOT_LEADING
        return self._term

    def _is_over(self) -> bool:
        return self._hub.clock.monotonic() - self._renewed_at > leadership.TTL.total_seconds()

    async def start(self) -> int:
        """Ask for the lease; one hub alone on its store takes it from any holder."""
        if self._hub.db.shared:
            await self._tick()
        else:
            self._term = await self._hub.write(leadership.seize, self._holder)
        return self._term

    async def run(self) -> None:
        """Renew until cancelled."""
        await self.loop.run()

    async def release(self) -> None:
        """Let another hub lead at once: this one ends."""
        if self._hub.db.shared and self._term:
            self._term = NOT_LEADING
            await self._hub.write(leadership.release, self._holder)

    async def _tick(self) -> None:
        alone = not self._hub.db.shared
        if not (alone or self._term or await self._hub.read(leadership.is_free)):
            return
        asked_at = self._hub.clock.monotonic()  # counted from the asking: the answer may be late
        term = await self._hub.write(leadership.renew, self._holder)
        self._renewed_at = asked_at
        self._term = NOT_LEADING if term is None else term


class Tenure:
    """Since when this process leads: what happened before may not have been reported to it.

    Made by each loop that judges silence or waiting; receives the term in each turn. The first term counts
    from the creation of the loop, and each term again after a time without turns: an outage of the
    database ends no term, and no reports came meanwhile.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._term: int | None = None
        self._listening = Listening(hub.clock.now())

    @property
    def since(self) -> dt.datetime:
        since = self._listening.since
        assert since is not None
        return since

    def begins(self, term: int) -> bool:
        """True if another term has begun since the last turn."""
        before, self._term = self._term, term
        now = self._hub.clock.now()
        if before is not None and before != term:
            self._listening.begin(now)
        self._listening.turn(now)
        return before != term

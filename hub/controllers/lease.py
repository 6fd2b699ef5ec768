"""Holds the leader's lease and knows its term; controllers name the term in every transaction."""

from hub.services.context import leadership
from hub.services.context.hub import Hub
from shared.loop import Loop

NOT_LEADING = 0


class Lease:
    """`await start()` before any controller runs, then `run()` keeps the lease."""

    def __init__(self, hub: Hub, holder: str) -> None:
        self._hub = hub
        self._holder = holder
        self._term = NOT_LEADING
        self.loop = Loop(
            "lease", self._tick, hub.clock, every_s=leadership.TTL.total_seconds() / 3
        )

    def term(self) -> int:
        """The term this process leads under; `NOT_LEADING` when it does not."""
        return self._term

    async def start(self) -> int:
        """Take the lease at start, from whoever had it: one hub process per store in this release."""
        self._term = await self._hub.write(leadership.seize, self._holder)
        return self._term

    async def run(self) -> None:
        """Renew until cancelled."""
        await self.loop.run()

    async def _tick(self) -> None:
        term = await self._hub.write(leadership.renew, self._holder)
        self._term = NOT_LEADING if term is None else term

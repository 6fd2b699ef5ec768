"""Detects that this process was paused: requests that it reads then may have been sent long before.

A process that is stopped (SIGSTOP, a suspended machine) keeps in its sockets what came meanwhile, and what
came before; woken, it reads that as if it were new. Every conclusion from the *time* of a request asks
here first. docs/explain/credentials.md.
"""

from typing import Final

from shared.clock import Clock

PAUSE_S: Final = 5.0  # a loop that was not run for longer stood still
SETTLED_S: Final = 60.0  # for this long afterwards a request may be one that waited there
_EVERY_S: Final = 1.0


class Pauses:
    """`await run()` looks at the clock; until it does, no pause is known of.

    By both clocks: a suspended machine's own one may not count what it slept.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looked: tuple[float, float] | None = None
        self._ended_at: float | None = None

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            self.look()
            await self._clock.sleep(_EVERY_S)

    def look(self) -> None:
        """Note when a pause has just ended."""
        before, self._looked = self._looked, self._times()
        if before is not None and any(
            now - then > PAUSE_S for then, now in zip(before, self._looked, strict=True)
        ):
            self._ended_at = self._looked[0]

    def lately(self) -> bool:
        """True if a request read now may have been sent before a pause."""
        if self._looked is None:
            return False
        self.look()
        return self._ended_at is not None and self._looked[0] - self._ended_at <= SETTLED_S

    def _times(self) -> tuple[float, float]:
        return self._clock.monotonic(), self._clock.now().timestamp()

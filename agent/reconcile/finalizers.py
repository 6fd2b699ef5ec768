"""Taking our finalizer off ended Jobs, when there is nothing else to do.

No report waits for it: a Job that is being deleted, or whose time is over, is released at once by a
separate step. So this work gives way to starting Jobs, and is done one by one.
"""

from collections.abc import Awaitable, Callable

from shared.clock import Clock

QUIET_S = 10.0  # this long without other steps, and it begins
LONGEST_S = 60.0  # after which a Job is released whatever else there is to do
_LOOK_S = 0.25


class FinalizerRemoval:
    """Uids whose objects may be released, in order."""

    def __init__(
        self,
        clock: Clock,
        release: Callable[[str], Awaitable[None]],
    ) -> None:
        self._clock = clock
        self._release = release
        self._waiting: dict[str, float] = {}  # uid: since when
        self._busy_at = float("-inf")

    def give_way(self) -> None:
        """Something else is done now."""
        self._busy_at = self._clock.monotonic()

    def put(self, uid: str) -> None:
        """Let this one go some time; putting it again changes nothing."""
        self._waiting.setdefault(uid, self._clock.monotonic())

    async def run(self) -> None:
        """Release them until cancelled."""
        while True:
            await self._clock.sleep(_LOOK_S)
            while self._waiting and self._may_go():
                uid = next(iter(self._waiting))
                del self._waiting[uid]
                await self._release(uid)

    def _may_go(self) -> bool:
        now = self._clock.monotonic()
        oldest = next(iter(self._waiting.values()))
        return now - self._busy_at >= QUIET_S or now - oldest >= LONGEST_S

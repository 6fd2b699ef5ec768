"""Who has to be heard before a hub that may be an older copy of itself gives anybody work. Pure.

A store that was restored does not know it (`hub.services.context.timeline`): an agent's mark tells. Only the
member that runs a job knows of it, so after a start whose store is not fresh, works are given out when
every joined member has spoken, or has been silent for as long as makes it suspect.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Final

# A store in which somebody was heard this lately is that of a hub that has just been restarted.
FRESH: Final = dt.timedelta(seconds=30)


def is_fresh(heartbeats: Mapping[str, dt.datetime | None], wall: dt.datetime) -> bool:
    """Whether a store is that of a hub that has just been restarted, by when it has heard members."""
    newest = max((at for at in heartbeats.values() if at is not None), default=None)
    return newest is None or wall - newest <= FRESH


class RollCall:
    """Which members have not spoken yet, as far as this process knows. Instants are monotonic seconds."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._awaited: set[str] = set()
        self._ends_at = 0.0

    def begin(self, awaited: Collection[str], now: float) -> None:
        """At the start, with what `awaited.call` gave."""
        self._awaited = set(awaited)
        self._ends_at = now + self._longest_s

    def awaits(self, cluster: str) -> bool:
        """Whether this member is to be heard."""
        return cluster in self._awaited

    def left(self, awaited: Collection[str]) -> bool:
        """What the store says now of who is awaited; True if nobody is any more, but somebody was."""
        if not self._awaited:
            return False
        self._awaited.intersection_update(awaited)
        return not self._awaited

    def has_waited(self, now: float) -> bool:
        """Whether it is over, though not everybody has spoken: those are suspect."""
        return bool(self._awaited) and self.is_over(now)

    def is_over(self, now: float) -> bool:
        """Whether works may be given out."""
        return not self._awaited or now >= self._ends_at

"""Roll call: members that must reconnect before a restored hub dispatches. Pure.

A store that was restored does not know it (`hub.services.context.timeline`): an agent's mark tells. Only the
member that runs a job knows of it, so after a start whose store is not fresh, works are given out when
every joined member has spoken, or has been silent for as long as makes it suspect.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Final

# A store with a request this recent is that of a hub that has just been restarted.
FRESH: Final = dt.timedelta(seconds=30)


def is_fresh(heartbeats: Mapping[str, dt.datetime | None], wall: dt.datetime) -> bool:
    """True if a store is that of a hub that has just been restarted, by its members' last requests."""
    newest = max((at for at in heartbeats.values() if at is not None), default=None)
    return newest is None or wall - newest <= FRESH


class RollCall:
    """Members that must report before a restarted hub dispatches. Instants are monotonic seconds."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._awaited: set[str] = set()
        self._ends_at = 0.0

    def begin(self, awaited: Collection[str], now: float) -> None:
        """At the start, with what `awaited.call` gave."""
        self._awaited = set(awaited)
        self._ends_at = now + self._longest_s

    def awaits(self, cluster: str) -> bool:
        """True if this member must report."""
        return cluster in self._awaited

    def left(self, awaited: Collection[str]) -> bool:
        """Reload awaited members from the store; True when the set just became empty."""
        if not self._awaited:
            return False
        self._awaited.intersection_update(awaited)
        return not self._awaited

    def has_waited(self, now: float) -> bool:
        """True if the wait is over although not all have reported: the others are suspect."""
        return bool(self._awaited) and self.is_over(now)

    def is_over(self, now: float) -> bool:
        """True if works may be offered."""
        return not self._awaited or now >= self._ends_at

"""Who has to be heard before a hub that may be an older copy of itself gives anybody work. Pure.

A store that was restored does not know it (`hub.services.context.timeline`): an agent's mark tells. Only the
member that runs a job knows of it, so after a start whose store is not fresh, works are given out when
every joined member has spoken, or has been silent for as long as makes it suspect.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Final

# A store in which somebody was heard this lately is that of a hub that has just been restarted.
FRESH: Final = dt.timedelta(seconds=30)


class RollCall:
    """Which members have not spoken yet. Instants are monotonic seconds, but for heartbeats."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._awaited: set[str] = set()
        self._ends_at = 0.0
        self._began: dt.datetime | None = None

    def begin(
        self, heartbeats: Mapping[str, dt.datetime | None], wall: dt.datetime, now: float
    ) -> None:
        """At the start: `heartbeats` of joined members, as the store has them."""
        self._began = wall
        newest = max((at for at in heartbeats.values() if at is not None), default=None)
        if newest is not None and wall - newest > FRESH:
            self._awaited = set(heartbeats)
            self._ends_at = now + self._longest_s

    def heard(self, cluster: str) -> bool:
        """A member has spoken, and its marks were looked at; True if it was the last to be awaited."""
        if cluster not in self._awaited:
            return False
        self._awaited.discard(cluster)
        return not self._awaited

    def heard_of(self, heartbeats: Mapping[str, dt.datetime | None]) -> bool:
        """What the store says since then of when members were heard; True if none is awaited any more."""
        if not self._awaited or self._began is None:
            return False
        for cluster, at in heartbeats.items():
            if at is not None and at > self._began:
                self._awaited.discard(cluster)
        return not self._awaited

    def is_over(self, now: float) -> bool:
        """Whether works may be given out."""
        return not self._awaited or now >= self._ends_at

"""Since when this process has listened to members without a break: their silence before says nothing."""

import datetime as dt
from typing import Final

AWAY_S: Final = (
    30.0  # without a turn for longer the hub did not listen: paused, or without a database
)


class Listening:
    """Told of each turn of whoever judges silence: that counts from `since` on; None: from the first turn."""

    def __init__(self, since: dt.datetime | None = None) -> None:
        self.since = since
        self._turned_at: dt.datetime | None = None

    def begin(self, now: dt.datetime) -> None:
        """Count from now."""
        self.since = self._turned_at = now

    def turn(self, now: dt.datetime) -> None:
        """There is a turn now: after a break, everything counts from here."""
        last = self._turned_at
        if self.since is None or (last is not None and (now - last).total_seconds() > AWAY_S):
            self.since = now
        self._turned_at = now

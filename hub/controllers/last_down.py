"""When each member was found Unhealthy last: what the loops of one process that judge lateness share."""

import datetime as dt
from collections.abc import Iterable, Mapping


class LastDown:
    """Each loop notes the Unhealthy members, and none counts that time against a job."""

    def __init__(self) -> None:
        self._at: dict[str, dt.datetime] = {}

    @property
    def at(self) -> Mapping[str, dt.datetime]:
        """When a member was found so last."""
        return self._at

    def note(self, down: Iterable[str], now: dt.datetime) -> None:
        """These are Unhealthy now."""
        self._at |= dict.fromkeys(down, now)

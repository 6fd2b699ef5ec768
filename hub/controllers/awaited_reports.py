"""Reports of consent that placements wait for: they gather, so that few reconciliations take them together.

In memory, for `hub.controllers.placement_news`. A delay postpones a check and decides nothing.
"""

import datetime as dt
from collections.abc import Collection, Iterable
from typing import Final

GATHER: Final = dt.timedelta(seconds=1)  # from the first that is kept back, at most


class AwaitedReports:
    """By placement, the members whose agents have yet to report, and the time of the check without them."""

    def __init__(self) -> None:
        self._left: dict[str, set[str]] = {}
        self._until: dict[str, dt.datetime] = {}

    def put(self, uid: str, clusters: Iterable[str]) -> None:
        """A placement was reconciled and waits for these, or for none."""
        self._until.pop(uid, None)
        self._left[uid] = set(clusters)
        if not self._left[uid]:
            del self._left[uid]

    def take(self, uids: Collection[str], cluster: str, now: dt.datetime) -> set[str]:
        """Those of `uids` that look now that `cluster` has reported; the others wait for more."""
        for uid in uids:
            left = self._left.get(uid)
            if left is not None:
                left.discard(cluster)
                if not left:
                    del self._left[uid]
        return self.keep_back(uids, now)

    def keep_back(self, uids: Collection[str], now: dt.datetime) -> set[str]:
        """Those of `uids` that look now; the others do once all have reported, or in a while."""
        waiting = {uid for uid in uids if uid in self._left}
        for uid in waiting:
            self._until.setdefault(uid, now + GATHER)
        return set(uids) - waiting

    def take_due(self, now: dt.datetime) -> set[str]:
        """Placements that have been kept back for long enough."""
        due = {uid for uid, until in self._until.items() if until <= now}
        for uid in due:
            del self._until[uid]
        return due

    def next_at(self) -> dt.datetime | None:
        """When the next of them is due."""
        return min(self._until.values(), default=None)

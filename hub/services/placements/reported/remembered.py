"""Placements that stand, as they were last looked at. In memory, as many as there is room for.

Those that agents reported of least lately are forgotten first. One that is forgotten costs a whole
reconciliation when something is reported of it.
"""

from collections.abc import Collection
from typing import Final

from hub.services.placements.reported.reports import RolledOut

MOST_CLUSTERS: Final = 20_000  # of all that are remembered; some 2 KiB each


class Remembered:
    """By uid, the latest used last."""

    def __init__(self, most_clusters: int = MOST_CLUSTERS) -> None:
        self._most = most_clusters
        self._clusters = 0
        self._by_uid: dict[str, RolledOut] = {}

    def has(self, uid: str) -> bool:
        """Is this one remembered?"""
        return uid in self._by_uid

    def rests(self, uid: str, names: Collection[str]) -> bool:
        """Is it known to stay as it is though these clusters may be picked again?"""
        found = self._by_uid.get(uid)
        return found is not None and found.rests(names)

    def take(self, uid: str) -> RolledOut:
        """Take it out; KeyError where it is not remembered."""
        found = self._by_uid.pop(uid)
        self._clusters -= len(found)
        return found

    def put(self, uid: str, standing: RolledOut | None) -> None:
        """Remember it, and forget others for that; None: it does not stand."""
        self.forget(uid)
        if standing is None:
            return
        self._by_uid[uid] = standing
        self._clusters += len(standing)
        while self._clusters > self._most and len(self._by_uid) > 1:
            self.take(next(iter(self._by_uid)))

    def forget(self, uid: str) -> None:
        """It is to be reconciled, or gone."""
        if uid in self._by_uid:
            self.take(uid)

"""Backlog of each member, and the expected wait of one more job there.

    wait = (pending + 1) / pace      pending: starts owed; pace: starts per second, as measured
    cost = 10,000 × e / (e + 60 s)   e = max(0, wait − 30 s)

While a pace is not known (`hub.domain.placement.scoring.pace`) no wait is counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import IntArray
from hub.domain.placement.scoring.arithmetic import round_half_away, round_one
from hub.domain.placement.scoring.pace import OpenWindows, Starts

FULL: Final = 10_000  # points of an empty cluster, of the tightest fit, and of an endless wait
GRACE_S: Final = 30.0  # a wait that costs nothing
HALF_AT_S: Final = 60.0  # beyond it, a wait that costs half of `FULL`


class Backlog:
    """Members in the order of a layout; grows as a cycle places."""

    def __init__(self, names: Sequence[str], starts: Mapping[str, Starts]) -> None:
        known = [starts.get(name, Starts()) for name in names]
        self._pending = [s.pending for s in known]
        self._pace = [s.pace for s in known]
        self._names = names
        self.windows = OpenWindows(starts)
        self._limited = self.windows.limited
        self.running: IntArray = np.array([s.running for s in known], dtype=np.int64)
        costs = [self._cost(at) for at in range(len(known))]
        self.costs: IntArray = np.array(costs, dtype=np.int64)  # of one job more, in points
        self.changes = 0  # of `costs`

    def add(self, at: int) -> None:
        """One more start is owed."""
        self._pending[at] += 1
        if self._limited:
            self.windows.take(self._names[at])
        if self._pace[at] is not None:
            self.costs[at] = self._cost(at)
            self.changes += 1

    @property
    def is_known(self) -> bool:
        """Is the pace of any member known, so that jobs placed there change what one more would wait?"""
        return any(pace is not None for pace in self._pace)

    def add_all(self, places: Iterable[int]) -> None:
        """One more start for each of `places`, while no pace is known and no window limits."""
        pending = self._pending
        for at in places:
            pending[at] += 1

    def costs_after(self, places: IntArray, jobs: IntArray) -> IntArray:
        """Clusters × jobs placed there first: what one more would cost, in points."""
        pace = np.array([np.nan if pace is None else pace for pace in self._pace])[places]
        owed = np.array(self._pending)[places][:, None] + jobs
        beyond_s = np.fmax((owed + 1) / pace[:, None] - GRACE_S, 0.0)
        return round_half_away(FULL * beyond_s / (beyond_s + HALF_AT_S))

    def wait_s(self, at: int) -> float | None:
        """The expected wait of one more job for its start, in seconds; None: not known."""
        pace = self._pace[at]
        return None if pace is None else (self._pending[at] + 1) / pace

    def _cost(self, at: int) -> int:
        wait_s = self.wait_s(at)
        if wait_s is None or wait_s <= GRACE_S:
            return 0
        beyond_s = wait_s - GRACE_S
        return round_one(FULL * beyond_s / (beyond_s + HALF_AT_S))

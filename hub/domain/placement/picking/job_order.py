"""The order in which equal jobs take room: each cluster has a step for each job more that it would take.

While equal jobs take its room, a cluster's key only falls: the steps of all clusters in order are the order
of the jobs. They are computed at once, as arrays, and only of clusters that a job reaches before another
cluster is at the end of its steps. Of equals the job takes the one that `ties` names; for several jobs those
hashes are mixed at once.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import IntArray
from hub.domain.placement.scoring.levels import Measure
from hub.domain.placement.scoring.ties import FEW, HashArray, Hashes, mixed_for, of_few

NOBODY: Final = -1
_PART: Final = 4  # jobs are dealt for at once: a quarter of those that are there to take them
_DEPTH: Final = 64, 8  # steps of each cluster: at most, at least
_MOST: Final = 8192  # steps in all, as far as the depth goes down to the least


class JobOrder:
    """Open clusters, `among` in ascending order; `held`: how many jobs each cluster has room for.

    `points`: of room now, by cluster.
    """

    __slots__ = (
        "_after",
        "_counts",
        "_ends",
        "_group",
        "_names",
        "_next",
        "_places",
        "_step",
        "points",
    )

    def __init__(self, among: IntArray, held: IntArray, measure: Measure, names: Hashes) -> None:
        among, depth = _within_reach(among, measure)
        points, keys = measure(among, np.arange(depth))
        order = np.argsort(-keys.ravel(), kind="stable")  # of equals the first place
        falling = keys.ravel()[order]
        after = np.full(points.shape, np.nan)  # points after one job more; NaN: the order ends
        after[:, :-1] = points[:, 1:]
        after[np.arange(depth) >= held[among][:, None]] = np.nan
        ends = np.flatnonzero(falling[1:] != falling[:-1]) + 1
        self._names = names
        self._places: list[int] = among[order // depth].tolist()
        self._ends: list[int] = [*ends.tolist(), len(order)][::-1]  # of levels, the next one last
        self._after: list[float] = after.ravel().tolist()
        named = among.tolist()
        self._step = dict(zip(named, range(0, len(order), depth), strict=True))
        self.points: dict[int, float] = dict(zip(named, points[:, 0].tolist(), strict=True))
        self._next = 0  # the first step below this level
        self._group: list[int] = []  # who is on this level, in ascending order
        self._counts: Counter[int] = Counter()  # how many steps each of them has here, if not one

    def steps(self, uids: Sequence[str]) -> Iterator[tuple[int, int, float]]:
        """For each job: who takes it, the first of the best of the others (-1 without), and points after it.

        Points are NaN if the cluster has no room or the order ends: then the caller makes another. A step
        counts as taken when the caller asks for the next.
        """
        step, after, points, names = self._step, self._after, self.points, self._names
        deal = _Deal(names)
        for job, uid in enumerate(uids):
            group = self._group
            if not group:
                group = self._begin_level()
                deal.is_over = True
            first = group[0]
            if len(group) == 1:
                at, second = first, self._next_but(first)
            else:
                few = len(group) <= FEW
                at = of_few(group, uid, names.each) if few else deal.to(group, uids, job)
                second = first if at != first else group[1]
            place = step[at]
            yield at, second, after[place]
            points[at] = after[place]
            step[at] = place + 1
            counts = self._counts
            if counts and counts[at] > 1:
                counts[at] -= 1
            else:
                del group[bisect_left(group, at)]
                deal.leave(at)

    def _begin_level(self) -> list[int]:
        start, self._next = self._next, self._ends.pop()
        places = self._places[start : self._next]
        self._group = list(dict.fromkeys(places))
        several = len(self._group) < len(places)
        self._counts = Counter(places) if several else Counter()
        return self._group

    def _next_but(self, at: int) -> int:
        places = self._places
        return next((places[n] for n in range(self._next, len(places)) if places[n] != at), NOBODY)


class _Deal:
    """The next jobs, dealt to many equals."""

    __slots__ = ("_columns", "_dealt", "_first_job", "_gone", "_mixed", "_names", "is_over")

    def __init__(self, names: Hashes) -> None:
        self._names = names
        self.is_over = True
        self._columns: list[int] = []  # the places that took part
        self._first_job = 0
        self._mixed: HashArray = np.zeros((0, 0), dtype=np.uint64)
        self._dealt: list[int] = []  # column for each job, while that place is still there
        self._gone: set[int] = set()  # columns of those that are not

    def to(self, group: list[int], uids: Sequence[str], job: int) -> int:
        """The place of `group` that takes `uids[job]`."""
        row = job - self._first_job
        if self.is_over or row >= len(self._dealt):
            self._begin(group, uids, job)
            row = 0
        column = self._dealt[row]
        if column in self._gone:
            mixed = self._mixed[row]
            mixed[list(self._gone)] = 0
            column = int(mixed.argmax())
        return self._columns[column]

    def leave(self, at: int) -> None:
        """A place is on this level no longer."""
        if not self.is_over:
            self._gone.add(bisect_left(self._columns, at))

    def _begin(self, group: list[int], uids: Sequence[str], job: int) -> None:
        self.is_over = False
        self._columns, self._first_job = group.copy(), job
        self._gone = set()
        jobs = uids[job : job + max(FEW, len(group) // _PART)]
        self._mixed = mixed_for(jobs, self._names.array[group])
        self._dealt = self._mixed.argmax(axis=1).tolist()


def _within_reach(among: IntArray, measure: Measure) -> tuple[IntArray, int]:
    """Clusters that take a job before any is at its last step, with the best of the others; and the depth."""
    depth, least = _DEPTH
    if len(among) * depth <= _MOST:
        return among, depth
    now = measure(among, np.zeros(1, dtype=np.int64)).keys[:, 0]
    while True:
        near = now >= measure(among, np.array([depth - 1])).keys.max()
        count = int(np.count_nonzero(near))
        if count * depth <= _MOST or depth == least:
            break
        depth //= 2
    if count < len(among):
        near[np.where(near, -np.inf, now).argmax()] = True
    return among[near], depth

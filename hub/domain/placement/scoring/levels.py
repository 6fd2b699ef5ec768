"""Utilization of every cluster, by resource: the free share of its nodes, in points of 10,000.

Shared by all classes of jobs of a cycle; after a placement only the touched cluster is read again. If only
some nodes suit, only those count.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster, FloatArray, IntArray
from hub.domain.fleet.free_capacity import Room
from hub.domain.placement.scoring.backlog import FULL

_FEW: Final = 8  # touched clusters that are not worth sorting out


class Falling(NamedTuple):
    """A level while jobs that ask for `amount` take of it, by cluster; a full that is not known is NaN."""

    left: IntArray
    full: FloatArray
    takes: FloatArray  # what one job is of the whole, in points
    amount: int

    def points(self, places: IntArray, jobs: IntArray) -> FloatArray:
        """Clusters × jobs taken before: the level once one job more is there, in points."""
        left = self.left[places][:, None] - self.amount * jobs
        points = np.fmax(FULL * left / self.full[places][:, None], -FULL)
        found: FloatArray = points - self.takes[places][:, None]
        return found


class Steps(NamedTuple):
    """Clusters × jobs taken before: points of room, and the keys by which a cluster competes then."""

    points: FloatArray
    keys: FloatArray


Measure = Callable[[IntArray, IntArray], Steps]  # of these clusters, after these numbers of jobs


class Level:
    """One resource on the nodes of one mask (None: all nodes), of every cluster."""

    def __init__(
        self, room: Room, clusters: Mapping[str, Cluster], row: int, mask: BoolArray | None
    ) -> None:
        layout = room.layout
        self._room = room
        self._row = row
        self._mask = mask
        if mask is None:
            resource = layout.resources[row]
            found = [clusters[name].allocatable.get(resource, 0) for name in layout.names]
            self.full: FloatArray = np.array(found, dtype=np.float64)
            left = room.left[row]
        else:
            self.full = layout.sum_nodes(np.where(mask, layout.full[row], 0)).astype(np.float64)
            left = layout.sum_nodes(np.where(mask, room.free[row], 0))
        self.full[self.full <= 0] = np.nan
        points = np.nan_to_num(FULL * left / self.full, nan=-FULL)
        # What is left; -10,000 where there is nothing at all. Changed in place.
        self.points: FloatArray = np.maximum(points, -FULL)
        # The same numbers: single ones are read and set faster.
        self._each = self.full.data, room.left[row].data, self.points.data

    def points_of(self, amount: int) -> FloatArray:
        """The share of an amount in the whole, per cluster, in points; at most all of it."""
        return np.minimum(np.nan_to_num(FULL * amount / self.full, nan=0.0), FULL)

    def falling(self, amount: int) -> Falling:
        """The level from now on, while only jobs take of it that ask for `amount`."""
        room = self._room
        left = room.left[self._row]
        if self._mask is not None:
            left = room.layout.sum_nodes(np.where(self._mask, room.free[self._row], 0))
        return Falling(left, self.full, self.points_of(amount), amount)

    def touch(self, at: int) -> None:
        """Read one cluster again."""
        fulls, lefts, each = self._each
        full = fulls[at]
        if full != full:  # noqa: PLR0124 - only NaN differs from itself
            return
        if self._mask is None:
            left = lefts[at]
        else:
            room = self._room
            low, high = room.layout.bounds[at], room.layout.bounds[at + 1]
            left = int(room.free[self._row, low:high][self._mask[low:high]].sum())
        points = FULL * left / full
        each[at] = max(-FULL, points)


class Levels:
    """The requested levels, each made once."""

    def __init__(self, room: Room, clusters: Mapping[str, Cluster]) -> None:
        self.room = room
        self.clusters = clusters
        self._known: dict[tuple[int, int], Level] = {}
        self._seen = len(room.touched)

    def refresh(self) -> None:
        """Bring all of them up to everything taken so far."""
        touched = self.room.touched
        seen, now = self._seen, len(touched)
        if seen < now:
            self._seen = now
            for at in touched[seen:] if now - seen < _FEW else set(touched[seen:]):
                for level in self._known.values():
                    level.touch(at)

    def of(self, row: int, mask: BoolArray | None) -> Level:
        """The level of a resource; `mask` is one of the layout's, which keeps it."""
        key = (row, id(mask))
        if key not in self._known:
            self._known[key] = Level(self.room, self.clusters, row, mask)
        return self._known[key]

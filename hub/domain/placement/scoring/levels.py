"""How full every cluster is, by resource: the share left of what its nodes have, in points of 10,000.

Shared by all classes of jobs of a cycle; after a placement only the touched cluster is read anew. Where
only some nodes will do, only those are counted.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster, FloatArray
from hub.domain.fleet.free_capacity import Room
from hub.domain.placement.scoring.backlog import FULL

_FEW: Final = 8  # touched clusters that are not worth sorting out


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

    def points_of(self, amount: int) -> FloatArray:
        """What an amount is of the whole, per cluster, in points; at most all of it."""
        return np.minimum(np.nan_to_num(FULL * amount / self.full, nan=0.0), FULL)

    def touch(self, at: int) -> None:
        """Read one cluster anew."""
        full = self.full.item(at)
        if full != full:  # noqa: PLR0124 - only NaN differs from itself
            return
        room = self._room
        if self._mask is None:
            left = room.left.item(self._row, at)
        else:
            low, high = room.layout.bounds[at], room.layout.bounds[at + 1]
            left = int(room.free[self._row, low:high][self._mask[low:high]].sum())
        points = FULL * left / full
        self.points[at] = max(-FULL, points)


class Levels:
    """The levels that were asked for, made once."""

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

"""Clusters that can still hold all pod sets of a demand, and taking room in the best of them.

Within a cycle room only shrinks, so a closed cluster stays closed, and an open one is checked again only
when it would be picked: after a placement only the touched cluster is recomputed.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import BoolArray, IntArray
from hub.domain.fleet.free_capacity import Need, Room
from hub.domain.placement.scoring.ties import Keys, Tied

CLOSED: Final = -(1 << 62)  # below whatever competes
# Up to this number of nodes, to find all closed ones costs about as much as to find one.
_FEW_NODES: Final = 20_000

PodSetNeed = tuple[Need, int]  # one pod's need, and how many pods
# From what competes, the first of the best, the job's uid, and who tied before: the one to try.
Settle = Callable[[Keys, int, str, Tied], int]


class Fitting:
    """For one demand under one choice of flavors. `open` is a superset until a cluster is picked."""

    def __init__(
        self,
        room: Room,
        needs: Sequence[PodSetNeed],
        allowed: BoolArray,
        holds: Callable[[int], bool] | None = None,
    ) -> None:
        self._room = room
        self._needs = tuple(needs)
        self._holds = holds  # conditions on a cluster besides its room
        self._orders = orders_of(self._needs)
        self.open: BoolArray = allowed.copy()
        self.count = 0  # of open clusters
        # Scores as they compete: a closed cluster's is below every score. Valid after `place`.
        self.competing: Keys = np.zeros(0, dtype=np.int64)
        self._tied = Tied()
        self._first = 0  # the first of the best, before ties were settled
        self._handicap: Keys | None = None  # of closed clusters; made when it is needed
        self._narrow()

    def any(self) -> bool:
        """May any cluster still hold all of it?"""
        return self.count > 0

    def surely(self) -> bool:
        """Can some cluster hold all of it? Looked at one by one, on a copy; those that can not are closed."""
        room = self._room.copy() if self.count else self._room
        for at in np.flatnonzero(self.open).tolist():
            if self._take(at, room):
                return True
            self.open[at] = False
        self._narrow()
        return False

    def place(self, scores: Keys, settle: Settle, uid: str) -> int | None:
        """Take room for job `uid` in the open cluster with the highest score; `settle` picks of equals.

        Returns its place in the layout; None, with nothing taken, where no cluster can hold it.
        """
        while self.count:
            self.competing = competing = self._compete(scores)
            self._first = int(competing.argmax())
            at = settle(competing, self._first, uid, self._tied)
            if self._take(at, self._room):
                return at
            self.close(at)
        return None

    @property
    def guarded(self) -> bool:
        """Must anything but room hold of a cluster before each placement?"""
        return self._holds is not None

    def close(self, at: int) -> None:
        """Cluster `at` has no room; nor may others have any more."""
        self.open[at] = False
        self._narrow()

    def pods_held(self) -> IntArray:
        """Per cluster: how many pods of the one pod set there is room for."""
        ((need, _),) = self._needs
        return self._room.pods_held(need)

    def take_singles(self, places: Sequence[int]) -> None:
        """Take room for one pod of the one pod set in each of `places`, where there is room."""
        ((need, _),) = self._needs
        self._room.take_singles(need, places)

    def runner_up(self, at: int) -> int:
        """The best of the others that competed with `at`, which took the job; there is one."""
        if at != self._first:
            return self._first
        competing = self.competing
        key = competing[at]
        competing[at] = CLOSED
        best = int(competing.argmax())
        competing[at] = key
        return best

    def _compete(self, scores: Keys) -> Keys:
        if self.count == len(self.open):
            return scores
        handicap = self._handicap
        if handicap is None:
            handicap = np.zeros_like(scores)
            handicap[~self.open] = CLOSED
            self._handicap = handicap
        competing: Keys = np.add(scores, handicap)
        return competing

    def _narrow(self) -> None:
        """Close what has closed: all at once in a fleet of few nodes, else those found so far."""
        if self.count == 0 or self._room.layout.nodes <= _FEW_NODES:
            for need, count in self._needs:
                self.open &= self._room.open_clusters(need, count)
        self.count = int(np.count_nonzero(self.open))
        self._handicap = None

    def _take(self, at: int, room: Room) -> bool:
        if self._holds is not None and not self._holds(at):
            return False
        if len(self._needs) == 1:
            need, count = self._needs[0]
            return room.take(need, count, at)
        return any(room.take_all(order, at) for order in self._orders)


def orders_of(needs: tuple[PodSetNeed, ...]) -> tuple[tuple[PodSetNeed, ...], ...]:
    """Orders worth trying: the pods that are hardest to place first, then as given."""
    if len(needs) < 2:
        return (needs,)
    hardest = tuple(sorted(needs, key=lambda n: (sum(n[0].amounts), len(n[0].rows)), reverse=True))
    return (hardest,) if hardest == needs else (hardest, needs)

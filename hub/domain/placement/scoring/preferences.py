"""Scores of clusters by a list of preferences, updated while a cycle takes room.

After a placement only the touched cluster is scored again, unless a term's least or largest value moved:
then that term is computed for all. Availability is what reports show less every promise.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster, FloatArray, IntArray, dynamic_resource
from hub.domain.fleet.free_capacity import Room
from hub.domain.placement.scoring.arithmetic import (
    constant_scores,
    known_range,
    sorted_score,
    sorted_scores,
)
from hub.domain.placement.scoring.ties import Keys, Tied
from hub.domain.plan import Score, TermScore
from hub.domain.workloads.placement_policy import Preferred

_ONE_BY_ONE: Final = 12  # beyond this number of touched clusters, arrays are cheaper


class Ranking:
    """The scores of all clusters, in the order of the room's layout.

    `among`: whose values make the range of a sorter; of others a sorter knows nothing. None: all clusters'.
    """

    def __init__(
        self,
        preferred: Sequence[Preferred],
        clusters: Mapping[str, Cluster],
        room: Room,
        among: Collection[str] | None = None,
    ) -> None:
        self._room = room
        self._seen = len(room.touched)
        terms = [p for p in preferred if p.weight]
        counts = np.array([among is None or n in among for n in room.layout.names], dtype=np.bool_)
        self._terms = [_Term(term, clusters, room, counts) for term in terms]
        self._moving = [t for t in self._terms if t.row is not None]
        self.scores: IntArray = np.zeros(len(room.layout.names), dtype=np.int64)
        self._listed: dict[int, Score] = {}
        self._sum()
        self.notes = tuple(
            f'cluster {c.name}: property "{p.sorter}" is not a quantity; counted as missing'
            for p in terms
            for c in clusters.values()
            if p.sorter and c.unreadable(p.sorter)
        )

    def settle(self, competing: Keys, at: int, uid: str, tied: Tied) -> int:
        """Of equals the first, which has the larger name, as in KubeFleet."""
        return at

    def refresh(self) -> IntArray:
        """The scores after everything taken so far."""
        touched = self._room.touched
        if self._seen == len(touched) or not self._moving:
            return self.scores
        news = touched[self._seen :]
        self._seen = len(touched)
        if len(news) > _ONE_BY_ONE:
            for term in self._moving:
                term.measure()
            self._sum()
            return self.scores
        for at in news:
            self._touch(at)
        return self.scores

    def _touch(self, at: int) -> None:
        moved, change = False, 0
        for term in self._moving:
            by = term.touch(at)
            if by is None:
                moved = True
            else:
                change += by
        if moved:
            self._sum()
            return
        if change:
            self.scores[at] += change
        self._listed.pop(at, None)

    def _sum(self) -> None:
        self.scores[:] = 0
        for term in self._terms:
            self.scores += term.scores
        self._listed.clear()

    def listed(self, at: int) -> Score:
        """The terms of the score of cluster `at`."""
        if at not in self._listed:
            terms = tuple([t.listed(at) for t in self._terms])
            self._listed[at] = Score(self._room.layout.names[at], int(self.scores[at]), terms)
        return self._listed[at]


class _Term:
    """One preference over all clusters. `row`: the resource whose availability it sorts by."""

    def __init__(
        self, term: Preferred, clusters: Mapping[str, Cluster], room: Room, counts: BoolArray
    ) -> None:
        self._term = term
        self._room = room
        self.row: int | None = None
        names = room.layout.names
        self._matches: BoolArray | None = None
        if term.selector is not None:
            found = [term.selector.matches(clusters[n].labels) for n in names]
            self._matches = np.array(found, dtype=np.bool_)
        self.values: FloatArray | None = None
        self._low = self._high = math.nan
        self._largest = 0  # how many clusters hold the largest value
        if not term.sorter:
            self.scores: IntArray = constant_scores(term.weight, self._matches, len(names))
            return
        resource = dynamic_resource(term.sorter)
        if resource is not None and resource in room.layout.row:
            self.row = room.layout.row[resource]
            self._unit = 1000.0 if resource == "cpu" else 1.0
            exposed = [resource in clusters[n].free for n in names]
            self._absent = ~(np.array(exposed, dtype=np.bool_) & counts)
            self.values = np.zeros(len(names), dtype=np.float64)
            self.measure()
            return
        measured = [clusters[n].measure(term.sorter) for n in names]
        self.values = np.array([math.nan if m is None else float(m) for m in measured])
        self.values[~counts] = math.nan
        self._score()

    def measure(self) -> None:
        """Read all values from the room again, and score."""
        assert self.values is not None
        assert self.row is not None
        np.maximum(self._room.left[self.row], 0, out=self.values, casting="unsafe")
        if self._unit != 1.0:
            self.values /= self._unit
        self.values[self._absent] = math.nan
        self._score()

    def touch(self, at: int) -> int | None:
        """Read one value again; its score's change: None if all did, for least or largest moved."""
        values, left = self.values, self._room.left
        assert values is not None
        assert self.row is not None
        before = values.item(at)
        value = max(0, left.item(self.row, at)) / self._unit
        if value == before or before != before:  # noqa: PLR0124 - only NaN differs from itself
            return 0
        values[at] = value
        if value < self._low or value > self._high:
            self._score()
            return None
        if before == self._high:
            if self._largest == 1:
                self._score()
                return None
            self._largest -= 1
        if self._matches is not None and not self._matches[at]:
            return 0
        term = self._term
        score = sorted_score(term.weight, value, self._low, self._high, ascending=term.ascending)
        change = score - self.scores.item(at)
        self.scores[at] = score
        return change

    def _score(self) -> None:
        assert self.values is not None
        self._low, self._high = known_range(self.values)
        self._largest = int(np.count_nonzero(self.values == self._high))
        self.scores = sorted_scores(
            self._term.weight, self.values, self._low, self._high, ascending=self._term.ascending
        )
        if self._matches is not None:
            self.scores[~self._matches] = 0

    def listed(self, at: int) -> TermScore:
        term = self._term
        name = term.sorter or "labels"
        value = None
        if self.values is not None and not math.isnan(self.values[at]):
            value = float(self.values[at])
        return TermScore(name, term.weight, int(self.scores[at]), value)

"""The balancing profile: where a job goes when no placement with property sorters chooses.

    score = room − wait − devices + 100,000 × label weights

    room, spreading   10,000 × (1 − u)   u: share of the job's dominant resource in use after placing it
    room, packing     10,000 / n         n: so many such jobs the nodes can hold; 1 is the tightest fit
    wait              what one job more would wait for its start costs (`placement.scoring.backlog`)
    devices           10,000 for work without devices where every node has some: the last choice

A job of one pod without devices spreads; gangs (several pods), pods with devices, and what waits for
nodes that are still to come pack. `u` counts everything promised, by this cycle too. Label weights are
those of a placement that names no sorters: they go before all balance. Of equals the cluster with the
fewest running jobs takes it, then the one that a stable hash of job and cluster names.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster, FloatArray, IntArray
from hub.domain.fleet.free_capacity import PODS, Need, Room
from hub.domain.fleet.node_layout import is_device
from hub.domain.placement.scoring import ties
from hub.domain.placement.scoring.arithmetic import constant_scores
from hub.domain.placement.scoring.backlog import FULL, Backlog
from hub.domain.placement.scoring.levels import Levels
from hub.domain.placement.scoring.ties import Keys, Tied
from hub.domain.plan import Score, TermScore
from hub.domain.workloads.placement_policy import Preferred

LABEL_POINT: Final = 100_000  # points of one point of a label preference
_RUNNING: Final = 1 << 20  # jobs running count as so many parts of a point, all but one at most
_ONE_BY_ONE: Final = 8  # beyond so many touched clusters, arrays are cheaper

Needs = Sequence[tuple[Need, int]]  # one pod's need, and how many pods


def is_packed(needs: Needs, resources: Sequence[str]) -> bool:
    """Do such jobs fill clusters one after the other? Gangs, devices, and nodes still to come."""
    if len(needs) != 1 or needs[0][1] != 1:
        return True
    need = needs[0][0]
    return need.sites is not None or asks_for_devices(needs, resources)


def asks_for_devices(needs: Needs, resources: Sequence[str]) -> bool:
    """Does a pod of any pod set ask for a device?"""
    return any(is_device(resources[row]) for need, _ in needs for row in need.rows)


class Terms:
    """What of a score does not depend on what is asked for: waits, labels, and who runs fewest.

    Shared by all classes of jobs of a cycle that have the same preferences.
    """

    def __init__(self, preferred: Sequence[Preferred], levels: Levels, backlog: Backlog) -> None:
        self._names = names = levels.room.layout.names
        self.levels = levels
        self._backlog = backlog
        self._labels = [(p.weight, _label_scores(p, levels.clusters, names)) for p in preferred]
        fixed = [scores * LABEL_POINT for _, scores in self._labels]
        self._fixed: IntArray = np.sum(fixed, axis=0) if fixed else np.zeros(len(names), np.int64)
        self._running: FloatArray = np.minimum(backlog.running, _RUNNING - 1) / _RUNNING
        self._changes = -1
        self._less: FloatArray = np.zeros(len(names), dtype=np.float64)
        self.scratch: FloatArray = np.zeros(len(names), dtype=np.float64)

    def less(self) -> FloatArray:
        """What is taken off the points of room, per cluster, as it competes."""
        if self._changes != self._backlog.changes:
            self._changes = self._backlog.changes
            self._less[:] = self._backlog.costs - self._fixed + self._running
        return self._less

    def less_at(self, at: int) -> float:
        """The same of one cluster."""
        return self._backlog.costs.item(at) - self._fixed.item(at) + self._running.item(at)

    def score(self, at: int, room: TermScore) -> Score:
        """How cluster `at` stands, term by term."""
        backlog, score = self._backlog, room.score
        terms: tuple[TermScore, ...] = (room, _NO_WAIT)
        if (wait_s := backlog.wait_s(at)) is not None:
            cost = backlog.costs.item(at)
            terms = (room, TermScore("wait", -FULL, -cost, wait_s))
            score -= cost
        if self._labels:
            score += self._fixed.item(at)
            terms += tuple(
                TermScore("labels", weight * LABEL_POINT, scores.item(at) * LABEL_POINT, None)
                for weight, scores in self._labels
            )
        return Score(self._names[at], score, terms, 0, (), backlog.running.item(at))


_NO_WAIT: Final = TermScore("wait", -FULL, 0, None)


class Balance:
    """The scores of all clusters for jobs that ask for `needs`, in the order of the room's layout."""

    notes: tuple[str, ...] = ()

    def __init__(self, needs: Needs, terms: Terms) -> None:
        self._room = room = terms.levels.room
        layout = room.layout
        self._terms = terms
        packed = is_packed(needs, layout.resources)
        self._term: _Fit | _Share = _Fit(needs, room) if packed else _Share(needs[0][0], terms)
        # Work without devices leaves nodes that have some to others; None: nothing is taken off.
        self._apart: FloatArray | None = None
        if layout.all_devices.any() and not asks_for_devices(needs, layout.resources):
            self._apart = np.where(layout.all_devices, float(FULL), 0.0)
        self._hashes = ties.hashes(layout.names)
        self._listed: dict[int, Score] = {}
        self._seen = len(room.touched)
        self._rises = 0  # how often a score may have risen
        # Exact: points are whole, below 2^32, and parts of them 2^-20.
        self.keys: FloatArray = np.zeros(len(layout.names), dtype=np.float64)
        self._measure()

    def _measure(self) -> None:
        """Score all clusters anew: what competes is the score, then the fewest running."""
        self._listed.clear()
        self._rises += 1
        keys = self.keys
        self._term.measure(keys)
        np.rint(keys, out=keys)
        if self._apart is not None:
            np.subtract(keys, self._apart, out=keys)
        np.subtract(keys, self._terms.less(), out=keys)

    def refresh(self) -> FloatArray:
        """What competes, after everything taken so far."""
        touched = self._room.touched
        seen, now = self._seen, len(touched)
        if seen == now:
            return self.keys
        self._seen = now
        if now - seen > _ONE_BY_ONE:
            self._measure()
            return self.keys
        keys = self.keys
        for at in touched[seen:]:
            key = round(self._term.touch(at)) - self._terms.less_at(at)
            if self._apart is not None:
                key -= self._apart.item(at)
            if key > keys.item(at):
                self._rises += 1
            keys[at] = key
            self._listed.pop(at, None)
        return keys

    def settle(self, competing: Keys, at: int, uid: str, tied: Tied) -> int:
        """Which of those that compete equally with `at`, the first of the best, takes job `uid`."""
        return tied.pick(competing, at, uid, self._hashes, self._rises)

    def listed(self, at: int) -> Score:
        """How cluster `at` stands, as of the last `refresh`."""
        found = self._listed.get(at)
        if found is None:
            found = self._terms.score(at, self._term.listed(at))
            if self._apart is not None and self._apart.item(at):
                term = TermScore("devices", -FULL, -FULL, None)
                found = found._replace(score=found.score - FULL, terms=(*found.terms, term))
            self._listed[at] = found
        return found


def _label_scores(
    preferred: Preferred, clusters: Mapping[str, Cluster], names: Sequence[str]
) -> IntArray:
    matches: BoolArray | None = None
    if preferred.selector is not None:
        found = [preferred.selector.matches(clusters[n].labels) for n in names]
        matches = np.array(found, dtype=np.bool_)
    return constant_scores(preferred.weight, matches, len(names))


class _Share:
    """Spreading: the share of the dominant resource that is in use once the job is placed."""

    def __init__(self, need: Need, terms: Terms) -> None:
        levels = terms.levels
        layout = levels.room.layout
        pairs = zip(need.rows, need.amounts, strict=True)
        asked = [(row, amount) for row, amount in pairs if layout.resources[row] != PODS]
        if not asked and "cpu" in layout.row:
            asked = [(layout.row["cpu"], 0)]
        found = [(levels.of(row, need.nodes), amount) for row, amount in asked]
        self._refresh = levels.refresh
        self._levels = [(level.points, level.points_of(amount)) for level, amount in found]
        self._scratch = terms.scratch

    def measure(self, into: FloatArray) -> None:
        """Points of all clusters, not yet rounded."""
        self._refresh()
        if not self._levels:
            into[:] = FULL
            return
        (left, takes), *others = self._levels
        np.subtract(left, takes, out=into)
        for left, takes in others:
            np.subtract(left, takes, out=self._scratch)
            np.minimum(into, self._scratch, out=into)

    def touch(self, at: int) -> float:
        """Points of one cluster."""
        self._refresh()
        return self._at(at)

    def _at(self, at: int) -> float:
        least = float(FULL)
        for left, takes in self._levels:
            points = left.item(at) - takes.item(at)
            least = min(least, points)
        return least

    def listed(self, at: int) -> TermScore:
        """The share in use after placing."""
        points = self._at(at)
        return TermScore("in-use-after", FULL, round(points), 1.0 - points / FULL)


class _Fit:
    """Packing: how many such jobs the nodes can hold; the fewest is the tightest fit."""

    def __init__(self, needs: Needs, room: Room) -> None:
        self._needs = [(need, max(1, count)) for need, count in needs]
        self._room = room
        self._points: FloatArray = np.full(len(room.layout.names), FULL, dtype=np.float64)

    def measure(self, into: FloatArray) -> None:
        """Points of all clusters, not yet rounded."""
        held = self._points
        held[:] = np.inf
        for need, count in self._needs:
            np.minimum(held, self._room.pods_held(need) / count, out=held)
        np.maximum(held, 1.0, out=held)  # who fits only once others are gone fits tightest
        into[:] = np.divide(FULL, held, out=held)

    def touch(self, at: int) -> float:
        """Points of one cluster."""
        held = min(self._room.count_held(need, at) / count for need, count in self._needs)
        self._points[at] = points = FULL / max(1.0, held)
        return points

    def listed(self, at: int) -> TermScore:
        """How many such jobs fit."""
        points = self._points.item(at)
        return TermScore("jobs-that-fit", FULL, round(points), FULL / points)

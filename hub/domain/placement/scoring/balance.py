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

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.devices import is_device
from hub.domain.fleet.clusters import BoolArray, Cluster, FloatArray, IntArray
from hub.domain.fleet.free_capacity import PODS, Need, Room
from hub.domain.placement.scoring import ties
from hub.domain.placement.scoring.arithmetic import constant_scores
from hub.domain.placement.scoring.backlog import FULL, Backlog
from hub.domain.placement.scoring.levels import Falling, Levels, Measure, Steps
from hub.domain.placement.scoring.ties import Keys, Tied
from hub.domain.plan import Score, TermScore
from hub.domain.workloads.placement_policy import Preferred

LABEL_POINT: Final = 100_000  # points of one point of a label preference
_RUNNING: Final = 1 << 20  # the running jobs count as a fraction of a point, less than one
_MOST: Final = float(FULL)
_ONE_BY_ONE: Final = 8  # beyond this number of touched clusters, arrays are cheaper

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
    """The parts of a score that do not depend on the request: waits, labels, and the fewest running jobs.

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
        self._less_by = (backlog.costs.data, self._fixed.data, self._running.data)
        self.running: list[int] = backlog.running.tolist()
        self.last = not backlog.is_known  # what is taken off stays, whatever is placed
        self.without_labels = not self._labels
        # Whatever is placed, nothing is taken off any cluster.
        self.nothing = self.last and not (self._fixed.any() or self._running.any())
        self._changes = -1
        self._less: FloatArray = np.zeros(len(names), dtype=np.float64)
        self.scratch: FloatArray = np.zeros(len(names), dtype=np.float64)

    def less(self) -> FloatArray:
        """The deduction from the points for room, per cluster."""
        if self._changes != self._backlog.changes:
            self._changes = self._backlog.changes
            self._less[:] = self._backlog.costs - self._fixed + self._running
        return self._less

    def less_at(self, at: int) -> float:
        """The same of one cluster."""
        costs, fixed, running = self._less_by
        return costs[at] - fixed[at] + running[at]

    def less_after(self, places: IntArray, jobs: IntArray) -> FloatArray:
        """Clusters × jobs placed there first: the deduction then."""
        constant = self._running[places] - self._fixed[places]
        costs = 0 if self.last else self._backlog.costs_after(places, jobs)
        less: FloatArray = constant[:, None] + costs
        return less

    def score(self, at: int, room: TermScore) -> Score:
        """The terms of the score of cluster `at`."""
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
        return Score(self._names[at], score, terms, 0, (), self.running[at])


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
        self._names = layout.names
        self._is_bare = terms.last and terms.without_labels and self._apart is None
        self.hashes = ties.hashes(layout.names)
        self._listed: dict[int, Score] = {}
        self._seen = len(room.touched)
        self._rises = 0  # how often a score may have risen
        # Exact: points are whole, below 2^32, and parts of them 2^-20.
        self.keys: FloatArray = np.zeros(len(layout.names), dtype=np.float64)
        self._measure()

    def _measure(self) -> None:
        """Score all clusters again, by score, then by the fewest running jobs."""
        self._listed.clear()
        self._rises += 1
        keys = self.keys
        self._term.measure(keys)
        np.rint(keys, out=keys)
        if self._apart is not None:
            np.subtract(keys, self._apart, out=keys)
        if not self._terms.nothing:
            np.subtract(keys, self._terms.less(), out=keys)

    def refresh(self) -> FloatArray:
        """The candidates after everything taken so far."""
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
            key = self.key(at, self._term.touch(at))
            if key > keys.item(at):
                self._rises += 1
            keys[at] = key
            self._listed.pop(at, None)
        return keys

    def settle(self, competing: Keys, at: int, uid: str, tied: Tied) -> int:
        """The winner of job `uid` among the clusters that tie with `at`, the first of the best."""
        return tied.pick(competing, at, uid, self.hashes, self._rises)

    def listed(self, at: int) -> Score:
        """The state of cluster `at`, as of the last `refresh`."""
        found = self._listed.get(at)
        if found is None:
            term = self._term
            if isinstance(term, _Share):
                found = self._told(at, term.at(at))
            else:
                found = self._score(at, term.listed(at))
            self._listed[at] = found
        return found

    def _score(self, at: int, room: TermScore) -> Score:
        found = self._terms.score(at, room)
        if self._apart is not None and self._apart.item(at):
            term = TermScore("devices", -FULL, -FULL, None)
            found = found._replace(score=found.score - FULL, terms=(*found.terms, term))
        return found

    @property
    def spreads(self) -> bool:
        """Is room the share left, and each job one pod?"""
        return isinstance(self._term, _Share)

    @property
    def moment(self) -> int:
        """A number that grows with the room taken."""
        return len(self._room.touched)

    @property
    def lasts(self) -> bool:
        """Does what is taken off points of room stay, whatever is placed?"""
        return self._terms.last

    def steps(self) -> Measure:
        """Points and keys of clusters once they took more jobs than by now; only where jobs spread."""
        assert isinstance(self._term, _Share)
        levels, less, apart = self._term.falling(), self._terms.less_after, self._apart

        def measure(places: IntArray, jobs: IntArray) -> Steps:
            points = np.full((len(places), len(jobs)), float(FULL))
            for level in levels:
                np.minimum(points, level.points(places, jobs), out=points)
            keys = np.rint(points) - less(places, jobs)
            if apart is not None:
                keys -= apart[places][:, None]
            return Steps(points, keys)

        return measure

    def scorer(
        self, points: Mapping[int, float], known: dict[int, Score]
    ) -> Callable[[int], Score]:
        """A function that gives the score of a cluster by its points, where jobs spread; `known` keeps it."""
        told = self._told
        names, running = self._names, self._terms.running
        of = tuple.__new__  # half the time of a named tuple's own

        def score(at: int) -> Score:
            found = known[at] = told(at, points[at])
            return found

        def bare(at: int) -> Score:
            left = points[at]
            whole = round(left)
            term = of(TermScore, ("in-use-after", FULL, whole, 1.0 - left / FULL))
            row = names[at], whole, (term, _NO_WAIT), 0, (), running[at]
            found = known[at] = of(Score, row)
            return found

        return bare if self._is_bare else score

    def _told(self, at: int, left: float) -> Score:
        """The score of a cluster that has `left` points of room; only where jobs spread."""
        whole, of = round(left), tuple.__new__
        term = of(TermScore, ("in-use-after", FULL, whole, 1.0 - left / FULL))
        if self._is_bare:
            running = self._terms.running[at]
            return of(Score, (self._names[at], whole, (term, _NO_WAIT), 0, (), running))
        return self._score(at, term)

    def key(self, at: int, points: float) -> float:
        """The key by which a cluster with these points competes."""
        key = round(points) - self._terms.less_at(at)
        return key if self._apart is None else key - self._apart.item(at)


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
        self._found = found
        self._levels = [(level.points, level.points_of(amount)) for level, amount in found]
        self._each = [(left.data, takes.data) for left, takes in self._levels]
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
        return self.at(at)

    def at(self, at: int) -> float:
        """The same, as of the last look at the room."""
        least = _MOST
        for left, takes in self._each:
            points = left[at] - takes[at]
            least = min(least, points)
        return least

    def falling(self) -> list[Falling]:
        """The levels as they fall from now on."""
        return [level.falling(amount) for level, amount in self._found]


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
        """The number of such jobs that fit."""
        points = self._points.item(at)
        return TermScore("jobs-that-fit", FULL, round(points), FULL / points)

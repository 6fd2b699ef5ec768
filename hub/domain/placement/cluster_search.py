"""Everything a cycle has worked out so far about clusters, shared by equal demands.

Equal constraints are sieved once, equal preferences ranked once, and equal demands under equal
flavors fitted once; each of them is kept up to date as room is taken.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster
from hub.domain.fleet.free_capacity import NodeAsk, Room
from hub.domain.placement import near_misses
from hub.domain.placement.fitting import CLOSED, Fitting
from hub.domain.placement.framework import Filter, Sieved, held_back, sieve
from hub.domain.placement.never_fits import IdleFleet, Never, could_ever_hold, names_nobody
from hub.domain.placement.picking.picker import ClusterPicker, PreferringPicker
from hub.domain.placement.plugins.availability_guard import AvailabilityGuard, by_availability
from hub.domain.placement.plugins.consent import is_awaiting
from hub.domain.placement.scoring.backlog import Backlog
from hub.domain.placement.scoring.balance import Balance, Terms
from hub.domain.placement.scoring.levels import Levels
from hub.domain.placement.scoring.pace import NO_STARTS, Starts
from hub.domain.placement.scoring.preferences import Ranking
from hub.domain.placement.scoring.ties import Tied
from hub.domain.plan import (
    Miss,
    Reason,
    Refusal,
    Rejection,
    Score,
    Verdict,
    aside_from_quota,
)
from hub.domain.workloads.demand import REFUSED, Constraints, Demand
from hub.domain.workloads.placement_policy import Preferred
from shared.resources import PodSet

# Others that a decision lists: a placement's status shows many, a queue's own in a small fleet all;
# in a large fleet the runner-up tells enough and costs next to nothing.
_OF_PLACEMENT: Final = 19
_OF_SMALL_FLEET: Final = 7
_NO_ROOM_LISTED: Final = 20
_MOST_NEVER: Final = (
    256  # classes of a cycle that the search checks for members that could ever hold them
)
OVERLOADED: Final = "ClusterOverloaded"  # its create window is full


class NoChoice(NamedTuple):
    """The reason why no cluster holds a demand."""

    reason: Reason
    message: str
    verdicts: tuple[Verdict, ...]
    nearest: Miss | None
    retry_at: dt.datetime | None


class Survey(NamedTuple):
    """The state of every cluster: `scores` of those that could hold it, the one it would go to first."""

    scores: tuple[Score, ...]
    refused: tuple[Verdict, ...]


class ClusterSearch:
    """Clusters and room during one cycle. `room` is the cycle's own and shrinks."""

    def __init__(
        self,
        clusters: Mapping[str, Cluster],
        room: Room,
        filters: Sequence[Filter],
        now: dt.datetime,
        starts: Mapping[str, Starts] = NO_STARTS,
    ) -> None:
        self.clusters = self._clusters = clusters
        self._backlog = Backlog(room.layout.names, starts)
        self._levels = Levels(room, clusters)
        self._room = room
        self._filters = filters
        self._now = now
        self._measured: dict[str, Cluster] | None = None
        self._sieved: dict[Constraints, tuple[Sieved, BoolArray]] = {}
        self._rankings: dict[tuple[tuple[Preferred, ...], frozenset[str] | None], Ranking] = {}
        self._terms: dict[tuple[Preferred, ...], Terms] = {}
        self._balances: dict[tuple[str, tuple[Preferred, ...], tuple[NodeAsk, ...]], Balance] = {}
        self._fittings: dict[tuple[str, Constraints, tuple[NodeAsk, ...]], Fitting] = {}
        self._idle: IdleFleet | None = None
        self._never: dict[tuple[str, Constraints], Never | None] = {}

    def can_hold(self, demand: Demand, asks: tuple[NodeAsk, ...]) -> bool:
        """May any cluster still hold all pod sets, asked for so?"""
        return self._fitting(_anyhow(demand), asks).any()

    def holds(self, demand: Demand, asks: tuple[NodeAsk, ...]) -> bool:
        """Can some cluster hold all pod sets, for certain? The result of `can_hold` may be out of date."""
        return self._fitting(_anyhow(demand), asks).surely()

    def picker(
        self, demand: Demand, asks: tuple[NodeAsk, ...]
    ) -> ClusterPicker | PreferringPicker:
        """The picker that places workloads of this demand under these flavors."""
        if not demand.constraints.avoided:
            return self._picker(demand, asks)
        return PreferringPicker(self._picker(demand, asks), self._picker(_anyhow(demand), asks))

    def _picker(self, demand: Demand, asks: tuple[NodeAsk, ...]) -> ClusterPicker:
        sieved, allowed = self._sieve(demand)
        closed = allowed & ~self._fitting(demand, asks).open
        no_room, _ = near_misses.verdicts(
            self._room, self._asked(demand, asks), closed, self._clusters, _NO_ROOM_LISTED
        )
        rejected = (*no_room, *sieved.rejected[: near_misses.VERDICTS - len(no_room)])
        small = len(self._clusters) <= _OF_SMALL_FLEET + 1
        others = _OF_PLACEMENT if demand.placement else _OF_SMALL_FLEET if small else 1
        ranking, fitting = self._ranking(demand, asks), self._fitting(demand, asks)
        growth = self._room.growth if any(ask.growing for ask in asks) else None
        names = self._room.layout.names
        return ClusterPicker(names, ranking, fitting, rejected, others, self._backlog, growth)

    @property
    def grows(self) -> bool:
        """May any pool of the fleet still add a node?"""
        return self._room.growth is not None

    def allowed(self, demand: Demand) -> BoolArray:
        """Per cluster: may the demand go there at all, room aside?"""
        return self._sieve(_anyhow(demand))[1]

    def standing(self, demand: Demand, asks: tuple[NodeAsk, ...], at: int) -> Score:
        """The state of cluster `at` for a demand."""
        demand = _anyhow(demand)
        ranking = self._ranking(demand, asks)
        ranking.refresh()
        return ranking.listed(at)

    def best_of(
        self, demand: Demand, asks: tuple[NodeAsk, ...], among: Sequence[int], uid: str
    ) -> int:
        """The best of the clusters `among` (at least one) for job `uid`, whatever their room."""
        avoided = demand.constraints.avoided
        names = self._room.layout.names
        among = [at for at in among if names[at] not in avoided] or among
        ranking = self._ranking(_anyhow(demand), asks)
        keys = ranking.refresh()
        competing = np.full_like(keys, CLOSED)
        competing[list(among)] = keys[list(among)]
        at = int(competing.argmax())
        return ranking.settle(competing, at, uid, Tied())

    def explain(self, demand: Demand, asks: tuple[NodeAsk, ...]) -> NoChoice:
        """The reason why no cluster holds it, and the nearest misses."""
        demand = _anyhow(demand)
        sieved, allowed = self._sieve(demand)
        asked = self._asked(demand, asks)
        no_room, nearest = near_misses.verdicts(self._room, asked, allowed, self._clusters)
        told = (*no_room, *sieved.rejected[: near_misses.VERDICTS - len(no_room)])
        reason, message = Reason.NO_CLUSTER_MATCHES, ""
        if not self._clusters:
            message = "the fleet has no cluster"
        elif not sieved.passed:
            few = near_misses.decisive(asked, sieved.rejected, self._clusters)
            told_of = names_nobody(demand.constraints, self._clusters) or near_misses.told(few)
            message = f"none of {len(self._clusters)} clusters may take it: {told_of}"
        else:
            allowed_clusters = {n: self._clusters[n] for n in sieved.passed}
            reason = Reason.NO_CLUSTER_FITS
            whole = not sieved.rejected
            lacking = near_misses.lacking_everywhere(asked, allowed_clusters, all_members=whole)
            shut = near_misses.large_enough(asked, sieved.rejected, self._clusters)
            if lacking and shut and all(v.rejection.reason == REFUSED for v in shut):
                reason = Reason.NO_CLUSTER_MATCHES  # the job's own reason has the member's words
            first = near_misses.told(shut) if lacking else self._unreported(demand, sieved)
            near = "" if nearest is None else f"{'' if lacking else 'nearest miss: '}{nearest}"
            message = "; ".join(filter(None, (first, lacking, near))) or "no cluster has the room"
        return NoChoice(reason, message, told, nearest, sieved.again_at)

    def decisive(
        self, refusal: Refusal, demand: Demand, ask: Callable[[PodSet], NodeAsk]
    ) -> Refusal:
        """The refusal of one that lacks quota; of one that no member could ever hold, that comes first.

        `ask`: what its pods ask under any flavor.
        """
        short = refusal.shortages
        if not short or any(each.is_beyond for each in short) or demand.quota_only:
            return refusal
        never = self._never_held(demand, ask)
        return refusal if never is None else aside_from_quota(refusal, never.reason, never.why)

    def _never_held(self, demand: Demand, ask: Callable[[PodSet], NodeAsk]) -> Never | None:
        """Return the reason that no member could ever hold it; None for classes beyond `_MOST_NEVER`."""
        key = demand.shape, demand.constraints
        if key not in self._never and len(self._never) < _MOST_NEVER:
            layout = self._room.layout
            if self._idle is None:
                known = {n: c for n, c in self._clusters.items() if n in layout.position}
                self._idle = IdleFleet(known, layout)
            grows = layout.sites is not None
            asks = [ask(p)._replace(growing=grows) for p in demand.pod_sets]
            self._never[key] = self._idle.never(demand.pod_sets, asks, demand.constraints)
        return self._never.get(key)

    def _unreported(self, demand: Demand, sieved: Sieved) -> str:
        """Name a cluster that could hold it, and of which a report is still to come; "" for none."""
        open_ = [v for v in sieved.rejected if is_awaiting(v.rejection)]
        if not open_:
            return ""
        large = could_ever_hold(demand.pod_sets, self._clusters, self._room.layout)
        told = (f"{v.cluster}: {v.rejection.message}" for v in open_ if v.cluster in large)
        return next(told, "")

    def survey(self, demand: Demand, asks: tuple[NodeAsk, ...], uid: str) -> Survey:
        """The state of every cluster for job `uid` now; takes no room."""
        given, demand = demand, _anyhow(demand)
        sieved, allowed = self._sieve(demand)
        asked, room = self._asked(demand, asks), self._room.copy()
        needs = [(need, pod_set.count) for pod_set, _, need in asked]
        there = np.flatnonzero(allowed).tolist()
        fit = [at for at in there if room.take_all(needs, at)]
        closed = allowed.copy()
        closed[fit] = False
        no_room, _ = near_misses.verdicts(
            self._room, asked, closed, self._clusters, len(self._clusters)
        )
        ranking = self._ranking(demand, asks)
        keys = ranking.refresh()
        fit.sort(key=lambda at: -keys.item(at))
        if fit:
            best = self.best_of(given, asks, fit, uid)
            fit.sort(key=lambda at: at != best)
        return Survey(tuple(ranking.listed(at) for at in fit), (*no_room, *sieved.rejected))

    def _asked(self, demand: Demand, asks: tuple[NodeAsk, ...]) -> list[near_misses.Asked]:
        need = self._room.layout.need
        pairs = zip(demand.pod_sets, asks, strict=True)
        return [(pod_set, ask, need(pod_set.requests, ask)) for pod_set, ask in pairs]

    def notes(self) -> tuple[str, ...]:
        """Unreadable values that count as missing."""
        return tuple(dict.fromkeys(n for r in self._rankings.values() for n in r.notes))

    def _ranking(self, demand: Demand, asks: tuple[NodeAsk, ...]) -> Ranking | Balance:
        """KubeFleet's arithmetic if sorters are named, or if the settings allow no other.

        Then its ranges are over all clusters, as in KubeFleet; else over those that may be picked.
        """
        policy = demand.constraints.policy
        preferred = demand.profile if policy is None else policy.preferred
        if not demand.profile and not any(p.sorter for p in preferred):
            return self._balance(demand, preferred, asks)
        among = None if demand.profile else self._sieve(demand)[0].passed
        key = (preferred, among)
        ranking = self._rankings.get(key)
        if ranking is None:
            ranking = self._rankings[key] = Ranking(preferred, self._clusters, self._room, among)
        return ranking

    def _balance(
        self, demand: Demand, preferred: tuple[Preferred, ...], asks: tuple[NodeAsk, ...]
    ) -> Balance:
        key = (demand.shape, preferred, asks)
        found = self._balances.get(key)
        if found is None:
            needs = [(need, p.count) for p, _, need in self._asked(demand, asks)]
            terms = self._terms.get(preferred)
            if terms is None:
                terms = self._terms[preferred] = Terms(preferred, self._levels, self._backlog)
            found = self._balances[key] = Balance(needs, terms)
        return found

    def _fitting(self, demand: Demand, asks: tuple[NodeAsk, ...]) -> Fitting:
        key = (demand.shape, demand.constraints, asks)
        fitting = self._fittings.get(key)
        if fitting is None:
            needs = [(need, p.count) for p, _, need in self._asked(demand, asks)]
            allowed, guard = self._sieve(demand)[1], self._guard(demand.constraints)
            fitting = self._fittings[key] = Fitting(self._room, needs, allowed, guard)
        return fitting

    def _sieve(self, demand: Demand) -> tuple[Sieved, BoolArray]:
        constraints = demand.constraints
        found = self._sieved.get(constraints)
        if found is None:
            by_room = by_availability(constraints)
            clusters = self._as_promised() if by_room else self._clusters
            found = self._among(sieve(self._filters, constraints, clusters, self._now))
            self._sieved[constraints] = found
        if self._backlog.windows.limited:
            found = self._among(self._without_full(found[0]))
        if not found[0].awaited:
            return found
        could_hold = could_ever_hold(demand.pod_sets, self._clusters, self._room.layout)
        return self._among(held_back(found[0], could_hold))

    def _among(self, sieved: Sieved) -> tuple[Sieved, BoolArray]:
        names = self._room.layout.names
        return sieved, np.fromiter((n in sieved.passed for n in names), np.bool_, len(names))

    def _as_promised(self) -> dict[str, Cluster]:
        """Clusters whose availability counts what the room says is promised."""
        if self._measured is None:
            row = self._room.layout.row
            left = dict(zip(self._room.layout.names, self._room.left.T.tolist(), strict=True))
            self._measured = {
                name: replace(c, reserved={r: f - left[name][row[r]] for r, f in c.free.items()})
                for name, c in self._clusters.items()
            }
        return self._measured

    def _guard(self, constraints: Constraints) -> Callable[[int], bool] | None:
        """Condition on a cluster before each placement; None if there is no such cluster."""
        names, windows = self._room.layout.names, self._backlog.windows

        def is_open(at: int) -> bool:
            return windows.is_open(names[at])

        if not by_availability(constraints):
            return is_open if windows.limited else None
        holds = AvailabilityGuard(constraints, self._clusters, self._room)
        return lambda at: is_open(at) and holds(at)

    def _without_full(self, sieved: Sieved) -> Sieved:
        """Reject clusters to which as many jobs are on their way as may be."""
        windows = self._backlog.windows
        full = {
            name: Verdict(name, Rejection("CreateWindow", OVERLOADED, windows.why_closed(name)))
            for name in sieved.passed
            if not windows.is_open(name)
        }
        rejected = sorted((*sieved.rejected, *full.values()), key=lambda v: v.cluster)
        return replace(sieved, passed=sieved.passed - full.keys(), rejected=tuple(rejected))


def _anyhow(demand: Demand) -> Demand:
    """The same demand, which avoids no cluster."""
    if not demand.constraints.avoided:
        return demand
    return replace(demand, constraints=replace(demand.constraints, avoided=()))

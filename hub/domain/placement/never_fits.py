"""Could any member ever hold such a job, were all of its nodes idle? Said when a job is submitted, and of
one that waits for quota: more quota would not start it.

Only of what members have reported: nodes that are there, and those that their pools may still add. While
none has reported nodes, or not yet by the labels that the pods ask about, nothing is concluded.
"""

import datetime as dt
from collections.abc import Container, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.fleet.scale_up import Growth
from hub.domain.placement import near_misses
from hub.domain.placement.framework import Filter, Sieved, sieve
from hub.domain.placement.plugins.kinds import KindServed
from hub.domain.placement.plugins.naming import Named
from hub.domain.placement.plugins.taints import TaintsTolerated
from hub.domain.plan import Reason
from hub.domain.workloads.demand import CLUSTERS, Constraints
from shared.resources import PodSet

# The facts that change only by an administrator's action.
_LASTING: Final[tuple[Filter, ...]] = (Named(), KindServed(), TaintsTolerated())
_EVER: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Never(NamedTuple):
    """A workload that no member could ever hold: none may take it, or none is large enough."""

    reason: Reason
    why: str


def why_never(
    pod_sets: Sequence[PodSet],
    asks: Sequence[NodeAsk],
    constraints: Constraints,
    clusters: Mapping[str, Cluster],
    layout: Layout,
) -> str:
    """The reason why no member could ever hold it, with the nearest miss; "" if one could, or if unknown.

    `layout` is that of `clusters`; `asks`, one per pod set, look at nodes still to come too.
    """
    never = IdleFleet(clusters, layout).never(pod_sets, asks, constraints)
    return never.why if never is not None else ""


class IdleFleet:
    """A fleet of which all nodes are empty, also those that pools may still add."""

    def __init__(self, clusters: Mapping[str, Cluster], layout: Layout) -> None:
        self._clusters = clusters
        self._reported = {n: c for n, c in clusters.items() if c.pools or c.growing}
        self._oldest = min((c.pools_revision for c in self._reported.values()), default=0)
        self._room = _idle(layout)
        self._sieved: dict[Constraints, tuple[Sieved, BoolArray]] = {}

    def never(
        self, pod_sets: Sequence[PodSet], asks: Sequence[NodeAsk], constraints: Constraints
    ) -> Never | None:
        """Return the reason that no member could ever hold it.

        None where one could, or while not all members have reported.
        """
        newest = max((ask.revision for ask in asks), default=0)
        if not self._reported or self._oldest < newest:
            return None
        sieved, allowed = self._sieve(constraints)
        if not sieved.passed:
            each = near_misses.told(sieved.rejected)
            few = names_nobody(constraints, self._clusters) or each
            said = f"none of {len(self._reported)} clusters may take it: {few}"
            return Never(Reason.NO_CLUSTER_MATCHES, said)
        layout = self._room.layout
        asked = [
            (p, ask, layout.need(p.requests, ask)) for p, ask in zip(pod_sets, asks, strict=True)
        ]
        if self._could(asked, allowed):
            return None
        return Never(Reason.NO_CLUSTER_FITS, self._missing(asked, sieved, allowed))

    def _sieve(self, constraints: Constraints) -> tuple[Sieved, BoolArray]:
        found = self._sieved.get(constraints)
        if found is None:
            sieved = sieve(_LASTING, constraints, self._reported, _EVER)
            names = self._room.layout.names
            allowed = np.fromiter((n in sieved.passed for n in names), np.bool_, len(names))
            found = self._sieved[constraints] = sieved, allowed
        return found

    def _could(self, asked: Sequence[near_misses.Asked], allowed: BoolArray) -> bool:
        """Could one of the `allowed` clusters hold all pods of all pod sets together?"""
        open_ = allowed.copy()
        for pod_set, _, need in asked:
            open_ &= self._room.open_clusters(need, pod_set.count)
        if len(asked) == 1:
            return bool(open_.any())
        room = self._room.copy()
        needs = [(need, pod_set.count) for pod_set, _, need in asked]
        return any(room.take_all(needs, at) for at in np.flatnonzero(open_).tolist())

    def _missing(
        self, asked: Sequence[near_misses.Asked], sieved: Sieved, allowed: BoolArray
    ) -> str:
        members = {name: self._reported[name] for name in sieved.passed}
        everybody = len(members) == len(self._clusters)
        lacking = near_misses.lacking_everywhere(asked, members, all_members=everybody)
        _, nearest = near_misses.verdicts(self._room, asked, allowed, self._clusters)
        near = f"nearest miss: {nearest}" if nearest is not None else ""
        return "; ".join(part for part in (lacking, near) if part) or "no cluster is large enough"


def names_nobody(constraints: Constraints, clusters: Container[str]) -> str:
    """The reason why no cluster is selected if none of the named ones exists; "" otherwise."""
    named = constraints.clusters or ()
    if not named or any(name in clusters for name in named):
        return ""
    return f"annotation {CLUSTERS} names {', '.join(named)}, and the fleet has no such cluster"


def could_ever_hold(
    pod_sets: Sequence[PodSet], clusters: Mapping[str, Cluster], layout: Layout
) -> frozenset[str]:
    """The clusters on whose empty nodes each single pod fits, and those that may add nodes."""
    large = np.ones(len(layout.names), dtype=np.bool_)
    for pod_set in pod_sets:
        large &= layout.large_enough(layout.need(pod_set.requests, NodeAsk()))
    return frozenset(
        name for at, name in enumerate(layout.names) if large[at] or clusters[name].growing
    )


def _idle(layout: Layout) -> Room:
    """All nodes empty, and those that may come."""
    growth = None if layout.sites is None else Growth.of(layout.sites)
    left = np.zeros((len(layout.resources), len(layout.names)), dtype=np.int64)
    return Room(layout, layout.full.copy(), left, growth)

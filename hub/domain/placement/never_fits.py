"""Could any member ever hold such a job, were all of its nodes idle? Said when a job is submitted.

Only of what members have reported: nodes that are there, and those that their pools may still add. While
none has reported nodes, or not yet by the labels that the pods ask about, nothing is concluded.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.fleet.scale_up import Growth
from hub.domain.placement import near_misses
from hub.domain.placement.framework import Filter, sieve
from hub.domain.placement.plugins.kinds import KindServed
from hub.domain.placement.plugins.naming import Named
from hub.domain.placement.plugins.taints import TaintsTolerated
from hub.domain.workloads.demand import Constraints
from shared.resources import PodSet

# What changes only when somebody changes it.
_LASTING: Final[tuple[Filter, ...]] = (Named(), KindServed(), TaintsTolerated())
_EVER: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def why_never(
    pod_sets: Sequence[PodSet],
    asks: Sequence[NodeAsk],
    constraints: Constraints,
    clusters: Mapping[str, Cluster],
    layout: Layout,
) -> str:
    """Why no member could ever hold it, with the nearest miss; "" where one could, or nobody knows.

    `layout` is that of `clusters`; `asks`, one per pod set, look at nodes still to come too.
    """
    reported = {n: c for n, c in clusters.items() if c.pools or c.growing}
    newest = max((ask.revision for ask in asks), default=0)
    if not reported or any(c.pools_revision < newest for c in reported.values()):
        return ""
    sieved = sieve(_LASTING, constraints, reported, _EVER)
    if not sieved.passed:
        few = "; ".join(f"{v.cluster}: {v.rejection.message}" for v in sieved.rejected[:3])
        return f"none of {len(reported)} clusters may take it: {few}"
    room = _idle(layout)
    needs = [
        (layout.need(p.requests, ask), p.count) for p, ask in zip(pod_sets, asks, strict=True)
    ]
    closed = np.fromiter((n in sieved.passed for n in layout.names), np.bool_, len(layout.names))
    for at in np.flatnonzero(closed).tolist():
        if room.take_all(needs, at):
            return ""
    asked = [
        (pod_set, ask, need) for pod_set, ask, (need, _) in zip(pod_sets, asks, needs, strict=True)
    ]
    allowed = {name: reported[name] for name in sieved.passed}
    everybody = len(allowed) == len(clusters)
    lacking = near_misses.lacking_everywhere(asked, allowed, all_members=everybody)
    _, nearest = near_misses.verdicts(room, asked, closed, clusters)
    near = f"nearest miss: {nearest}" if nearest is not None else ""
    return "; ".join(part for part in (lacking, near) if part) or "no cluster is large enough"


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

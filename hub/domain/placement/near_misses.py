"""Near misses of a demand, in numbers: a verdict per cluster, and the nearest one.

Worked out only when a demand is parked: never on the way of one that fits.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster, FloatArray, GrowingPool, IntArray, Pool
from hub.domain.fleet.free_capacity import Need, NodeAsk, Room
from hub.domain.plan import Miss, Rejection, Verdict
from shared import quantity
from shared.resources import PodSet, Toleration

VERDICTS: Final = 50  # clusters that an explanation lists

_ANYTHING: Final = (Toleration(operator="Exists"),)

Asked = tuple[PodSet, NodeAsk, Need]


def verdicts(
    room: Room,
    asked: Sequence[Asked],
    closed: BoolArray,
    clusters: Mapping[str, Cluster],
    limit: int = VERDICTS,
) -> tuple[tuple[Verdict, ...], Miss | None]:
    """Reasons of the `closed` clusters, nearest first, at most `limit`; and the nearest miss."""
    if not closed.any():
        return (), None
    distances, failing = _distances(room, asked, closed)
    order = np.argsort(distances, kind="stable")
    order = order[closed[order]][
        :limit
    ]  # open clusters are infinitely far, as some closed ones are
    told: list[Verdict] = []
    nearest: Miss | None = None
    for at in order.tolist():
        cluster = clusters[room.layout.names[at]]
        miss = None
        if np.isfinite(distances[at]):
            miss = _miss(room, asked[failing[at]], at)
            tainted = _tainted(miss, asked[failing[at]], cluster)
            if tainted is not None:
                told.append(Verdict(cluster.name, tainted))
                continue
            nearest = nearest or miss
        told.append(Verdict(cluster.name, _no_room(cluster, asked, miss)))
    return tuple(told), nearest


def _tainted(miss: Miss, asked: Asked, cluster: Cluster) -> Rejection | None:
    """The taint of nodes that would hold one pod, where none that the pod tolerates ever will."""
    pod_set, ask, _ = asked
    if miss.pods or _pool_for(pod_set, ask, cluster) is not None:
        return None
    pool = _pool_for(pod_set, ask._replace(tolerations=_ANYTHING), cluster)
    if pool is None:
        return None
    text = f"its nodes that are large enough have taint {ask.stopped_by(pool)}"
    return Rejection("Fits", "UntoleratedTaint", text)


def _distances(
    room: Room, asked: Sequence[Asked], closed: BoolArray
) -> tuple[FloatArray, IntArray]:
    """Per cluster: how far the first pod set that does not fit is from fitting, and which it is.

    Room for more of the pods is nearer; where not one fits, less lacking on the best node is. Infinite
    where no node is for such pods, or where only all pod sets together do not fit.
    """
    count = len(room.layout.names)
    distances = np.full(count, np.inf)
    failing = np.zeros(count, dtype=np.int64)
    pending = closed.copy()
    for index, (pod_set, _, need) in enumerate(asked):
        held = room.pods_held(need)
        short = pending & (held < pod_set.count)
        pending &= ~short
        lack = room.least_lack(need)
        distance = np.where(held > 0, 1 - held / max(1, pod_set.count), 1 + lack)
        distances[short] = distance[short]
        failing[short] = index
    return distances, failing


def _miss(room: Room, asked: Asked, at: int) -> Miss:
    """The shortage of one pod on the best node of a cluster, or the number of pods that fit."""
    pod_set, _, need = asked
    name = room.layout.names[at]
    low, high = room.layout.bounds[at], room.layout.bounds[at + 1]
    pods = room.count_held(need, at)
    if pods:
        return Miss(name, pod_set.name, {}, pods, pod_set.count, need.sites is not None)
    best = low + int(room.lack(need, low, high).argmin())
    lacks = {
        room.layout.resources[row]: amount - int(room.free[row, best])
        for row, amount in zip(need.rows, need.amounts, strict=True)
    }
    missing = {resource: amount for resource, amount in lacks.items() if amount > 0}
    return Miss(name, pod_set.name, missing, 0, pod_set.count)


def _no_room(cluster: Cluster, asked: Sequence[Asked], miss: Miss | None) -> Rejection:
    if miss is not None:
        said = str(miss).removeprefix(f"cluster {cluster.name} ")
        return Rejection("Fits", "InsufficientRoom", said)
    for pod_set, ask, need in asked:
        if need.missing:
            return Rejection("Fits", "NoSuchResource", f"no node has {', '.join(need.missing)}")
        reason = _no_nodes(cluster, pod_set, ask)
        if reason is not None:
            return reason
    return Rejection("Fits", "InsufficientRoom", "its nodes can not hold all pod sets together")


def _no_nodes(cluster: Cluster, pod_set: PodSet, ask: NodeAsk) -> Rejection | None:
    """The reason why no node of the cluster suits such pods; None where some are."""
    if cluster.pools_revision < ask.revision:
        return Rejection(
            "Fits",
            "AwaitingReport",
            "its agent has not yet reported nodes by the requested labels",
        )
    if any(ask.admits(pool) for pool in cluster.pools if pool.nodes):
        return None
    if not any(pool.nodes for pool in cluster.pools):
        return Rejection("Fits", "NoNodes", "it has reported no node that is ready")
    labelled = [p for p in cluster.pools if ask._replace(tolerations=_ANYTHING).admits(p)]
    if labelled:
        taint = ask.stopped_by(labelled[0])
        return Rejection("Fits", "UntoleratedTaint", f"its nodes have taint {taint}")
    return Rejection("Fits", "NoNodesMatch", f"it has no nodes with {describe(ask)}")


def describe(ask: NodeAsk) -> str:
    """The node labels asked for, as people write them."""
    labels = ",".join(f"{k}={v}" for k, v in ask.labels)
    return labels or "what the required node affinity asks for"


def lacking_everywhere(
    asked: Sequence[Asked], clusters: Mapping[str, Cluster], *, all_members: bool
) -> str:
    """The requirement that no member could meet even if empty; "" if some member's nodes could.

    It ignores nodes that agents have not reported yet. `all_members`: `clusters` are the whole
    fleet, and not only those that may take it.
    """
    member = "member" if all_members else "member that may take it"
    for pod_set, ask, need in asked:
        if need.missing:
            return f"no {member} has {', '.join(need.missing)}"
        if any(c.pools_revision < ask.revision for c in clusters.values()):
            return "not all members have reported their nodes by the requested labels yet"
        anyone = ask._replace(tolerations=_ANYTHING)
        there = [p for c in clusters.values() for p in c.pools if p.nodes]
        coming = [p for c in clusters.values() for p in c.growing]
        found = any(map(anyone.admits, there)) or any(map(anyone.admits, coming))
        if (there or coming) and not found:
            return f"no {member} has nodes with {describe(ask)}"
        if _place_for(pod_set, ask, clusters) is None:
            one = f"large enough for one pod of {pod_set.name} ({_spell(pod_set)})"
            tainted = _place_for(pod_set, anyone, clusters)
            if tainted is None:
                return f"no node of any {member} is {one}"
            cluster, pool = tainted
            return (
                f"no node that its pods tolerate is {one}: those of cluster {cluster} have taint "
                f"{ask.stopped_by(pool)}, which a toleration would admit"
            )
    return ""


def large_enough(
    asked: Sequence[Asked], rejected: Sequence[Verdict], clusters: Mapping[str, Cluster]
) -> list[Verdict]:
    """Of clusters that a rule rejects, those of which an empty node would hold one pod of each pod set."""

    def would_hold(name: str) -> bool:
        one = {name: clusters[name]}
        return all(
            not need.missing and _place_for(pod_set, ask, one) is not None
            for pod_set, ask, need in asked
        )

    return [verdict for verdict in rejected if would_hold(verdict.cluster)]


def decisive(
    asked: Sequence[Asked], rejected: Sequence[Verdict], clusters: Mapping[str, Cluster]
) -> list[Verdict]:
    """The same verdicts, first of clusters whose nodes are large enough: there the rule decides."""
    large = {verdict.cluster for verdict in large_enough(asked, rejected, clusters)}
    return sorted(rejected, key=lambda verdict: verdict.cluster not in large)


def told(verdicts: Sequence[Verdict], most: int = 3) -> str:
    """The first of them in one sentence."""
    return "; ".join(f"{v.cluster}: {v.rejection.message}" for v in verdicts[:most])


def _place_for(
    pod_set: PodSet, ask: NodeAsk, clusters: Mapping[str, Cluster]
) -> tuple[str, Pool | GrowingPool] | None:
    """The first cluster by name, and its pool, of which an empty node holds one pod."""
    for name in sorted(clusters):
        pool = _pool_for(pod_set, ask, clusters[name])
        if pool is not None:
            return name, pool
    return None


def _pool_for(pod_set: PodSet, ask: NodeAsk, cluster: Cluster) -> Pool | GrowingPool | None:
    for growing in cluster.growing:
        if _holds_one(growing, pod_set, ask):
            return growing
    for pool in cluster.pools:
        if not pool.nodes or not ask.admits(pool):
            continue
        column = {r: i for i, r in enumerate(pool.resources)}
        enough = np.ones(len(pool.nodes), dtype=np.bool_)
        for resource, amount in pod_set.requests.items():
            if amount > 0:
                at = column.get(resource)
                enough &= False if at is None else pool.allocatable[:, at] >= amount
        if enough.any():
            return pool
    return None


def _holds_one(pool: GrowingPool, pod_set: PodSet, ask: NodeAsk) -> bool:
    """Would a new node of this pool hold one pod?"""
    asked = pod_set.requests.items()
    return ask.admits(pool) and all(pool.shape.get(r, 0) >= amount for r, amount in asked)


def _spell(pod_set: PodSet) -> str:
    return ", ".join(
        f"{r} {quantity.canonical(r, a)}" for r, a in sorted(pod_set.requests.items())
    )

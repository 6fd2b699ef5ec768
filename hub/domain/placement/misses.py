"""Why no cluster holds a demand, in numbers: a verdict per cluster, and the one that came nearest.

Worked out only when a demand is parked: never on the way of one that fits.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet import BoolArray, Cluster
from hub.domain.placement.framework import Sieved
from hub.domain.plan import Miss, Rejection, Verdict
from hub.domain.room import Need, NodeAsk, Room
from shared import quantity
from shared.resources import PodSet, Toleration

VERDICTS: Final = 50  # clusters that an explanation lists

_ANYTHING: Final = (Toleration(operator="Exists"),)

Asked = tuple[PodSet, NodeAsk, Need]


def verdicts(
    room: Room,
    asked: Sequence[Asked],
    allowed: BoolArray,
    sieved: Sieved,
    clusters: Mapping[str, Cluster],
) -> tuple[tuple[Verdict, ...], Miss | None]:
    """Per cluster why not, those that may first; and the nearest miss among those that may."""
    misses = _misses(room, asked, allowed)
    told: list[Verdict] = []
    for at in np.flatnonzero(allowed).tolist()[:VERDICTS]:
        name = room.layout.names[at]
        told.append(Verdict(name, _no_room(clusters[name], asked, misses.get(at))))
    requests = {p.name: p.requests for p, _, _ in asked}
    nearest = min(misses.values(), key=lambda m: _distance(m, requests[m.pod_set]), default=None)
    rest = VERDICTS - len(told)
    return (*told, *sieved.rejected[: max(0, rest)]), nearest


def _misses(room: Room, asked: Sequence[Asked], allowed: BoolArray) -> dict[int, Miss]:
    """For each cluster that may: what the first pod set that does not fit lacks there."""
    found: dict[int, Miss] = {}
    for pod_set, _, need in asked:
        held = room.pods_held(need)
        for at in np.flatnonzero(allowed & (held < pod_set.count)).tolist():
            if at in found:
                continue
            name, pods = room.layout.names[at], int(held[at])
            missing = {} if pods else _lack_on_best_node(room, need, at)
            if pods or missing is not None:
                found[at] = Miss(name, pod_set.name, missing or {}, pods, pod_set.count)
    return found


def _lack_on_best_node(room: Room, need: Need, at: int) -> dict[str, int] | None:
    """What one pod lacks on the node that comes nearest; None where no node is for it at all."""
    layout = room.layout
    low, high = layout.bounds[at], layout.bounds[at + 1]
    eligible = (
        np.arange(low, high) if need.nodes is None else low + np.flatnonzero(need.nodes[low:high])
    )
    if not len(eligible):
        return None
    lack = np.zeros((len(need.rows), len(eligible)), dtype=np.int64)
    for index, (row, amount) in enumerate(zip(need.rows, need.amounts, strict=True)):
        lack[index] = np.maximum(0, amount - room.free[row, eligible])
    share = (lack / np.array(need.amounts, dtype=np.float64)[:, None]).sum(axis=0)
    best = int(share.argmin())
    return {
        layout.resources[row]: int(lack[index, best])
        for index, row in enumerate(need.rows)
        if lack[index, best] > 0
    }


def _distance(miss: Miss, requests: Mapping[str, int]) -> tuple[float, str]:
    """Room for more of the pods is nearer; where not one fits, less lacking is."""
    if not miss.missing:
        return 1 - miss.pods / max(1, miss.count), miss.cluster
    lack = sum(a / max(1, requests.get(r, 1)) for r, a in miss.missing.items())
    return 1 + lack, miss.cluster


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
    """Why no node of the cluster is for such pods; None where some are."""
    if cluster.pools_revision < ask.revision:
        return Rejection(
            "Fits",
            "AwaitingReport",
            "its agent has not yet reported nodes by the labels asked for",
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


def lacking_everywhere(asked: Sequence[Asked], clusters: Mapping[str, Cluster]) -> str:
    """What no member has at all, however empty it were; "" where some member's nodes would do."""
    for pod_set, ask, need in asked:
        if need.missing:
            return f"no member has {', '.join(need.missing)}"
        pools = [p for c in clusters.values() for p in c.pools if p.nodes]
        if pools and not any(ask._replace(tolerations=_ANYTHING).admits(p) for p in pools):
            return f"no member has nodes with {describe(ask)}"
        if not _ever_fits(pod_set, ask, clusters):
            return f"no node of any member is large enough for one pod of {pod_set.name} ({_spell(pod_set)})"
    return ""


def _ever_fits(pod_set: PodSet, ask: NodeAsk, clusters: Mapping[str, Cluster]) -> bool:
    for cluster in clusters.values():
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
                return True
    return False


def _spell(pod_set: PodSet) -> str:
    return ", ".join(
        f"{r} {quantity.canonical(r, a)}" for r, a in sorted(pod_set.requests.items())
    )

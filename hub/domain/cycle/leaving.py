"""The room that a workload frees when it leaves its cluster, and its nodes.

Agents report on which nodes the bound pods of each work are: there its room becomes free. Pods on nodes that
take nothing (cordoned, not ready) free nothing. Pods that are not bound, and those of agents that name no
nodes, stand on the fullest nodes that may hold them (`Room.give_back`). The promise of an evicted workload
is released on the node with most room (`Room.unpromise`): its pods have left that node.
"""

from collections.abc import Mapping
from typing import Final

from hub.domain.fleet.clusters import BoundPods, Cluster
from hub.domain.fleet.free_capacity import Room
from hub.domain.quota.holders import AdmittedWorkload

_UNBOUND: Final = BoundPods(0, 0, ())
_ONE_BY_ONE: Final = 200  # promised pods that are released node by node


def give_back(
    room: Room, clusters: Mapping[str, Cluster], holder: AdmittedWorkload, at: int
) -> None:
    """What if `holder` left cluster `at`?"""
    told = _told(clusters, holder)
    for requests, ask, count in holder.pods:
        need = room.layout.need(requests, ask)
        if told is None or told.nodes is None:
            room.give_back(need, count, at)
            continue
        room.give_back_on(need, told.nodes, at)
        coming = _coming(holder, told, count)
        if coming > 0 and holder.evicted and coming <= _ONE_BY_ONE:
            room.unpromise(need, coming, at)
        elif coming > 0:
            room.give_back(need, coming, at)


def hosts(clusters: Mapping[str, Cluster], holder: AdmittedWorkload) -> tuple[int, ...]:
    """Numbers of the nodes with its pods; () if unknown."""
    told = _told(clusters, holder)
    return () if told is None or told.nodes is None else tuple(node for node, _ in told.nodes)


def _told(clusters: Mapping[str, Cluster], holder: AdmittedWorkload) -> BoundPods | None:
    """The report's entry about its pods; None where they are of several kinds: no report tells those apart.

    An agent that names nodes leaves out who has no pod bound: all of its pods are promised.
    """
    cluster = clusters.get(holder.cluster) if len(holder.pods) == 1 else None
    if cluster is None:
        return None
    told = cluster.bound.get((holder.uid, holder.epoch))
    if told is None and cluster.bound and next(iter(cluster.bound.values())).nodes is not None:
        return _UNBOUND
    return told


def _coming(holder: AdmittedWorkload, told: BoundPods, count: int) -> int:
    """Pods that are promised and not bound yet."""
    if holder.completions is None:
        wanted = 0 if told.succeeded else count
    else:
        wanted = min(count, max(0, holder.completions - told.succeeded))
    return wanted - told.bound

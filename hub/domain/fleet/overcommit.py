"""Is there still room for workloads whose cluster is tentative? Asked of a cluster's latest report.

A reservation's room is promised like any other, so it is not offered again; but nodes may disappear, and
pods of others may appear. A reservation gives way to a placed workload.
"""

from collections.abc import Collection

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, Need, Room
from hub.domain.fleet.promises import Members, Promise


def squeezed_out(members: Members, cluster: str, reserved: Collection[str]) -> list[str]:
    """The uids of `reserved` (earliest first) that `cluster` can no longer hold beside its promises.

    `members` is up to date with the reports (`Members.refresh`).
    """
    room, at = members.room, members.room.layout.position.get(cluster)
    if at is None:
        return []
    low, high = room.layout.bounds[at], room.layout.bounds[at + 1]
    if bool((room.left[:, at] >= room.free[:, low:high].sum(axis=1)).all()):
        return []  # everything promised has found a node
    promises = sorted(members.of_cluster(cluster), key=_largest_first)
    alone = _empty(members.clusters[cluster])
    if all(_hold(alone, promise) for promise in promises):
        return []  # some of them on nodes that are still to come
    own = {uid: promise for uid in reserved if (promise := members.promised(uid)) is not None}
    alone = _empty(members.clusters[cluster])
    for promise in promises:
        if promise.uid not in own:
            _hold(alone, promise)
    return [uid for uid, mine in own.items() if not alone.take_all(_needs(alone, mine), 0)]


def _empty(cluster: Cluster) -> Room:
    """The room that its report shows, nothing promised."""
    return Room.of(Layout([cluster]), {cluster.name: cluster})


def _hold(room: Room, promise: Promise) -> bool:
    """Promise it; have all its pods found a node?"""
    short = [count - room.promise(need, count, 0) for need, count in _needs(room, promise)]
    return not any(short)


def _needs(room: Room, promise: Promise) -> list[tuple[Need, int]]:
    return [
        (room.layout.need(requests, ask), count)
        for (requests, ask, _), count in zip(promise.pod_sets, promise.outstanding, strict=True)
        if count
    ]


def _largest_first(promise: Promise) -> tuple[int, str]:
    return -sum(sum(requests.values()) for requests, _, _ in promise.pod_sets), promise.uid

"""Is there still room for workloads whose cluster is tentative? Asked of a cluster's latest report.

A reservation's room is promised like any other, so that nobody else is offered it; but nodes may go,
and pods of others may come. Who holds a reservation gives way to who is placed.
"""

from collections.abc import Collection

from hub.domain.promises import Members, Promise
from hub.domain.room import Layout, Need, Room


def squeezed_out(members: Members, cluster: str, reserved: Collection[str]) -> list[str]:
    """Which of `reserved` (uids, earliest first) `cluster` can no longer hold beside what it is promised.

    `members` is up to date with the reports (`Members.refresh`).
    """
    room, at = members.room, members.room.layout.position.get(cluster)
    if at is None:
        return []
    if bool((room.left[:, at] >= room.nodes_of(at).sum(axis=1)).all()):
        return []  # everything promised has found a node
    reported = members.clusters[cluster]
    alone = Room.of(Layout([reported]), {cluster: reported})
    own = {uid: promise for uid in reserved if (promise := members.promised(uid)) is not None}
    others = [each for each in members.of_cluster(cluster) if each.uid not in own]
    for promise in sorted(others, key=_largest_first):
        for need, count in _needs(alone, promise):
            alone.promise(need, count, 0)
    return [uid for uid, mine in own.items() if not alone.take_all(_needs(alone, mine), 0)]


def _needs(room: Room, promise: Promise) -> list[tuple[Need, int]]:
    return [
        (room.layout.need(requests, ask), count)
        for (requests, ask, _), count in zip(promise.pod_sets, promise.outstanding, strict=True)
        if count
    ]


def _largest_first(promise: Promise) -> tuple[int, str]:
    return -sum(sum(requests.values()) for requests, _, _ in promise.pod_sets), promise.uid

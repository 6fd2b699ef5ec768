"""Who waits in a queue, in order: Kueue's visibility API, answered from the index of every replica.

The order is that of the lanes, which is what a cycle follows: usage of the LocalQueue where that
counts, priority, queue-order timestamp, uid.
Workloads that can not be considered at all (a stopped queue, a placement to wait for) come last. The
lanes of one queue are merged only as far as is asked for.
"""

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from hub.domain.instants import stamp
from hub.domain.queueing.lanes import Entry
from hub.domain.queueing.pending import WaitingLane
from hub.services.index.index import ScheduleIndex
from hub.services.kueue_view.workload import WORKLOAD, owner_of, workload_name
from hub.store import objects, workloads
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode

API_VERSION: Final = "visibility.kueue.x-k8s.io/v1beta2"
DEFAULT_LIMIT: Final = 1000  # Kueue's
MAX_LIMIT: Final = 4000
Json = dict[str, Any]
LocalQueueKey = tuple[str, str]  # namespace and name of a LocalQueue


class Place(NamedTuple):
    """One workload's place, counted from 0, in its ClusterQueue and its LocalQueue."""

    uid: str
    local_queue: LocalQueueKey
    in_queue: int
    in_local_queue: int


def in_cluster_queue(
    tx: Transaction, index: ScheduleIndex | None, name: str, offset: int, limit: int
) -> Json:
    """A PendingWorkloadsSummary of one ClusterQueue. Raises Rejected: NotFound."""
    if objects.find(tx, KUEUE, "ClusterQueue", "", name) is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no ClusterQueue {name[:64]}")
    line = () if index is None else places(tx, index, name, offset + limit)
    return _summary(tx, list(islice(line, offset, offset + limit)))


def in_local_queue(
    tx: Transaction,
    index: ScheduleIndex | None,
    local_queue: LocalQueueKey,
    offset: int,
    limit: int,
) -> Json:
    """A PendingWorkloadsSummary of one LocalQueue. Raises Rejected: NotFound."""
    row = objects.find(tx, KUEUE, "LocalQueue", *local_queue)
    if row is None:
        raise Rejected(
            RejectCode.NOT_FOUND,
            f"there is no LocalQueue {local_queue[0][:64]}/{local_queue[1][:64]}",
        )
    target = str((row["spec"] or {}).get("clusterQueue") or "")
    line: Iterable[Place] = () if index is None else places(tx, index, target, None)
    return _summary(
        tx, list(islice((p for p in line if p.local_queue == local_queue), offset, offset + limit))
    )


def places(tx: Transaction, index: ScheduleIndex, queue: str, most: int | None) -> Iterator[Place]:
    """Places in one ClusterQueue, in order; at least the first `most`, if there are so many."""
    counted: dict[LocalQueueKey, int] = {}
    number = 0
    for uid, local_queue in _in_line(index, queue, most):
        yield Place(uid, local_queue, number, counted.get(local_queue, 0))
        counted[local_queue] = counted.get(local_queue, 0) + 1
        number += 1
    for uid, local_queue in _set_aside(tx, index, queue):
        yield Place(uid, local_queue, number, counted.get(local_queue, 0))
        counted[local_queue] = counted.get(local_queue, 0) + 1
        number += 1


def _in_line(
    index: ScheduleIndex, queue: str, most: int | None
) -> Iterator[tuple[str, LocalQueueKey]]:
    """Those in line. Lanes are copied as far as needed: the loop moves on meanwhile."""
    rank_of = index.waiting.rank_of

    def keyed(lane: WaitingLane) -> Iterator[tuple[float, int, Entry]]:
        entries = lane.first(len(lane) if most is None else most)
        rank = rank_of(lane.demand, entries[0]) if rank_of is not None and entries else 0.0
        return ((rank, -lane.demand.priority, entry) for entry in entries)

    lanes = [keyed(lane) for lane in list(index.waiting.lanes(queue))]
    for _, _, entry in heapq.merge(*lanes):
        yield entry.uid, (entry.namespace, entry.local_queue)


def _set_aside(
    tx: Transaction, index: ScheduleIndex, queue: str
) -> Iterator[tuple[str, LocalQueueKey]]:
    """Those that can not be considered now, by priority and time."""
    local_queues = {
        local_queue
        for local_queue, local in list(index.routes.local.items())
        if local.cluster_queue == queue
    }
    held = {
        uid: each.local_queue
        for uid, each in list(index.held_back.items())
        if each.local_queue in local_queues
    }
    rows = workloads.get_many(tx, held)
    order = sorted(rows.values(), key=lambda r: (-r["priority"], r["queued_at"], r["uid"]))
    return ((row["uid"], held[row["uid"]]) for row in order)


def _summary(tx: Transaction, found: list[Place]) -> Json:
    rows = workloads.get_many(tx, [place.uid for place in found])
    return {
        "kind": "PendingWorkloadsSummary",
        "apiVersion": API_VERSION,
        "metadata": {},
        "items": [
            _item(rows[place.uid], place)
            for place in found
            if place.uid in rows  # gone a moment ago
        ],
    }


def _item(row: Json, place: Place) -> Json:
    metadata: Json = {
        "name": workload_name(row),
        "namespace": row["namespace"],
        "creationTimestamp": stamp(row["created_at"].replace(microsecond=0)),
    }
    if row["kind"] != WORKLOAD:
        owner = owner_of(row)
        metadata["ownerReferences"] = [
            {name: owner[name] for name in ("apiVersion", "kind", "name", "uid")}
        ]
    return {
        "metadata": metadata,
        "priority": row["priority"],
        "localQueueName": place.local_queue[1],
        "positionInClusterQueue": place.in_queue,
        "positionInLocalQueue": place.in_local_queue,
    }

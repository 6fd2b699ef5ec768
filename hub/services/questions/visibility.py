"""Waiting workloads of a queue, in order: Kueue's visibility API, answered from the index of every replica.

The order is that of the lanes, which is what a cycle follows: usage of the LocalQueue where that
counts, priority, queue-order timestamp, uid.
Workloads that can not be considered at all (a stopped queue, a placement to wait for) come last. The
lanes of one queue are merged only as far as is asked for.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, NamedTuple

from hub.domain.instants import stamp
from hub.domain.queueing.lanes import Entry
from hub.services.index.held_back import HeldBack
from hub.services.index.index import ScheduleIndex
from hub.services.kueue_view.workload import WORKLOAD, owner_of, workload_name
from hub.store import objects, workloads
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode

API_VERSION: Final = "visibility.kueue.x-k8s.io/v1beta2"
DEFAULT_LIMIT: Final = 1000  # Kueue's
MAX_LIMIT: Final = 4000
LocalQueueKey = tuple[str, str]  # namespace and name of a LocalQueue


class Place(NamedTuple):
    """One workload's place, counted from 0, in its ClusterQueue and its LocalQueue."""

    uid: str
    local_queue: LocalQueueKey
    in_queue: int
    in_local_queue: int


@dataclass(frozen=True, slots=True)
class LineView:
    """The waiting jobs of one ClusterQueue, copied from the index.

    `lanes`: of equal workloads, each with its rank and priority. `set_aside`: uids and LocalQueues of all
    that can not be considered, of any queue. `local_queues`: those that lead to the ClusterQueue.
    """

    lanes: Sequence[tuple[float, int, Sequence[Entry]]] = ()
    set_aside: Mapping[str, HeldBack] = field(default_factory=dict)
    local_queues: frozenset[LocalQueueKey] = frozenset()


def line_view(index: ScheduleIndex | None, queue: str, most: int | None = None) -> LineView:
    """The line of a ClusterQueue as it is now, at least its first `most`. In the event loop."""
    if index is None:
        return LineView()
    rank_of = index.waiting.rank_of
    lanes = []
    for lane in index.waiting.lanes(queue):
        entries = lane.first(len(lane) if most is None else most)
        rank = rank_of(lane.demand, entries[0]) if rank_of is not None and entries else 0.0
        lanes.append((rank, -lane.demand.priority, entries))
    leading = frozenset(k for k, to in index.routes.local.items() if to.cluster_queue == queue)
    return LineView(lanes, index.held_back.copy(), leading)


def queue_of(index: ScheduleIndex | None, local_queue: LocalQueueKey) -> str:
    """The ClusterQueue that a LocalQueue leads to; "" if there is none."""
    found = None if index is None else index.routes.local.get(local_queue)
    return "" if found is None else found.cluster_queue


def in_cluster_queue(tx: Transaction, line: LineView, name: str, offset: int, limit: int) -> Json:
    """A PendingWorkloadsSummary of one ClusterQueue. Raises Rejected: NotFound."""
    if objects.find(tx, KUEUE, "ClusterQueue", "", name) is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no ClusterQueue {name[:64]}")
    return _summary(tx, list(islice(places(tx, line), offset, offset + limit)))


def in_local_queue(
    tx: Transaction,
    line: LineView,
    local_queue: LocalQueueKey,
    offset: int,
    limit: int,
) -> Json:
    """A PendingWorkloadsSummary of one LocalQueue. Raises Rejected: NotFound."""
    row = objects.find(tx, KUEUE, "LocalQueue", *local_queue)
    if row is None or not tx.scope.shows(local_queue[0]):
        raise Rejected(
            RejectCode.NOT_FOUND,
            f"there is no LocalQueue {local_queue[0][:64]}/{local_queue[1][:64]}",
        )
    own = (place for place in places(tx, line) if place.local_queue == local_queue)
    return _summary(tx, list(islice(own, offset, offset + limit)))


def places(tx: Transaction, line: LineView) -> Iterator[Place]:
    """Places in one ClusterQueue, in order."""
    counted: dict[LocalQueueKey, int] = {}
    for number, (uid, local_queue) in enumerate(chain(_in_line(line), _set_aside(tx, line))):
        yield Place(uid, local_queue, number, counted.get(local_queue, 0))
        counted[local_queue] = counted.get(local_queue, 0) + 1


def _in_line(line: LineView) -> Iterator[tuple[str, LocalQueueKey]]:
    """Those in line: lanes are merged only as far as is asked for."""

    def keyed(
        rank: float, priority: int, entries: Sequence[Entry]
    ) -> Iterator[tuple[float, int, Entry]]:
        return ((rank, priority, entry) for entry in entries)

    for _, _, entry in heapq.merge(*(keyed(*lane) for lane in line.lanes)):
        yield entry.uid, (entry.namespace, entry.local_queue)


def _set_aside(tx: Transaction, line: LineView) -> Iterator[tuple[str, LocalQueueKey]]:
    """Those that can not be considered now, by priority and time."""
    held = {
        uid: each.local_queue
        for uid, each in line.set_aside.items()
        if each.local_queue in line.local_queues
    }
    rows = workloads.get_many(tx, held)
    order = sorted(rows.values(), key=lambda r: (-r.priority, r.queued_at, r.uid))
    for row in order:
        yield row.uid, held[row.uid]


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


def _item(row: Workload, place: Place) -> Json:
    metadata: Json = {
        "name": workload_name(row),
        "namespace": row.namespace,
        "creationTimestamp": stamp(row.created_at.replace(microsecond=0)),
    }
    if row.kind != WORKLOAD:
        owner = owner_of(row)
        metadata["ownerReferences"] = [
            {name: owner[name] for name in ("apiVersion", "kind", "name", "uid")}
        ]
    return {
        "metadata": metadata,
        "priority": row.priority,
        "localQueueName": place.local_queue[1],
        "positionInClusterQueue": place.in_queue,
        "positionInLocalQueue": place.in_local_queue,
    }

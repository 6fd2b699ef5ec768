"""The order of a ClusterQueue: lanes of equal workloads.

Order in a line: priority descending, queue-order timestamp, uid. StrictFIFO and BestEffortFIFO differ
only in what follows a head that does not fit: the one blocks its line, the other is passed, and all
that are equal to it with it.
"""

import bisect
import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hub.domain.quota.declared import ClusterQueue
from hub.domain.workloads.demand import Demand


class Entry(NamedTuple):
    """One waiting workload. `queued_at`: microseconds since the epoch, the queue-order timestamp."""

    queued_at: int
    uid: str
    epoch: int
    parallelism: int = 1
    completions: int | None = 1
    namespace: str = ""
    local_queue: str = ""
    generation: int = 0  # of its manifest


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """Equal workloads of one queue, in order."""

    demand: Demand
    entries: Sequence[Entry]


class Head(NamedTuple):
    """The workload whose turn it is in one line."""

    line: "Line"
    demand: Demand
    entry: Entry


class Line:
    """One ClusterQueue during a cycle. `head`: whose turn it is; None when empty or blocked."""

    __slots__ = ("_heap", "_lanes", "head", "queue")

    def __init__(self, queue: ClusterQueue, lanes: Sequence[Lane]) -> None:
        self.queue = queue
        self._lanes = lanes
        self._heap = [_place(number, lane, 0) for number, lane in enumerate(lanes) if lane.entries]
        heapq.heapify(self._heap)
        self.head = self._first()

    def _first(self) -> Head | None:
        if not self._heap:
            return None
        _, _, _, number, position = self._heap[0]
        lane = self._lanes[number]
        return Head(self, lane.demand, lane.entries[position])

    def order(self) -> tuple[int, int, str]:
        """Sort key of the heads of different lines."""
        priority, queued_at, uid, _, _ = self._heap[0]
        return priority, queued_at, uid

    def run(self, limit: int) -> Sequence[Entry]:
        """The head and the equals that follow it at once, before any other turn."""
        heap = self._heap
        _, _, _, number, position = heap[0]
        lane = self._lanes[number]
        entries = lane.entries
        end = min(len(entries), position + limit)
        if end > position + 1 and len(heap) > 1:
            follows = heap[1] if len(heap) == 2 or heap[1] < heap[2] else heap[2]
            if -follows[0] == lane.demand.priority:
                turn = follows[1:3]
                if entries[position + 1] >= turn:
                    return entries[position : position + 1]
                end = bisect.bisect_left(entries, turn, position, end)
        return entries[position : max(end, position + 1)]

    def advance(self, placed: int = 1) -> None:
        """The head, or a run of `placed`, was placed: the next of its equals takes its place."""
        _, _, _, number, position = self._heap[0]
        lane = self._lanes[number]
        if position + placed < len(lane.entries):
            heapq.heapreplace(self._heap, _place(number, lane, position + placed))
        else:
            heapq.heappop(self._heap)
        self.head = self._first()

    def park(self) -> list[Demand]:
        """The head does not fit: pass its equals, or block the line; demands that are now behind it."""
        heapq.heappop(self._heap)
        behind = []
        if self.queue.strict:
            behind = [self._lanes[number].demand for _, _, _, number, _ in self._heap]
            self._heap.clear()
        self.head = self._first()
        return behind


def _place(number: int, lane: Lane, position: int) -> tuple[int, int, str, int, int]:
    entry = lane.entries[position]
    return -lane.demand.priority, entry.queued_at, entry.uid, number, position

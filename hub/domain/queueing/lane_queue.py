"""One ClusterQueue's lanes of equal workloads as rounds take them.

Lanes come from an index that outlives the cycle; here are only the turns in them. A parked workload is
parked with its equals.
"""

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from hub.domain.queueing.lanes import Lane
from hub.domain.queueing.requeue import Where
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import PendingWorkload
from hub.domain.workloads.demand import Demand


class Turns(Protocol):
    """One queue's line, as rounds use it."""

    @property
    def queue(self) -> ClusterQueue: ...

    def pop(self) -> PendingWorkload | None: ...

    def put_back(self, who: PendingWorkload, where: Where, *, sticky: bool = False) -> None: ...


_NONE: Final[Mapping[str, PendingWorkload]] = {}


class _Turn(NamedTuple):
    """An entry of a lane whose turn may come, the lower before. `apart`: a sticky one, before its lane."""

    late: bool  # not of those that go before everything else
    priority: int  # negated
    queued_at: int
    uid: str
    lane: int
    position: int
    apart: bool


class LaneQueue:
    """One ClusterQueue's lanes during a cycle; what holds of one workload holds of its equals.

    `nominated`: uids of preemptors whose victims are leaving; except in StrictFIFO they go before
    everything else. `known` are workloads by uid that say more than their entries do. Classes for which
    `spared` returns True have no turn. A workload that was popped and not put back was admitted.
    """

    def __init__(
        self,
        queue: ClusterQueue,
        lanes: Sequence[Lane],
        nominated: Collection[str] = (),
        ranks: Mapping[str, float] | None = None,
        known: Mapping[str, PendingWorkload] = _NONE,
        spared: Callable[[Demand], bool] | None = None,
    ) -> None:
        self.queue = queue
        self._known = known
        self._spared = spared
        self.ranks = ranks
        self._lanes = lanes
        self._nominated = nominated
        self._sticky = sticky = () if queue.strict else nominated
        self._heaps: dict[str, list[_Turn]] = {}  # by LocalQueue, where they are ranked; else one
        self._current: _Turn | None = None
        for number, lane in enumerate(lanes):
            self._push_next(number, 0)
            if sticky:
                for position, entry in enumerate(lane.entries):
                    if entry.uid in sticky:
                        self._push(self._turn(number, position, apart=True))

    def pop(self) -> PendingWorkload | None:
        """Take the head, if there is one."""
        self.advance()
        while self._heaps:
            turn = self._next()
            spared = self._spared
            if turn.apart or spared is None or not spared(self._lanes[turn.lane].demand):
                self._current = turn
                return self._pending(turn)
        return None

    def _next(self) -> _Turn:
        doors, ranks, door = self._heaps, self.ranks, ""
        if ranks is not None:
            door = min(doors, key=lambda name: (ranks.get(name, 0.0), doors[name][0]))
        turn = heapq.heappop(doors[door])
        if not doors[door]:
            del doors[door]
        return turn

    def put_back(self, who: PendingWorkload, where: Where, *, sticky: bool = False) -> None:
        """The head was not admitted: its turn comes again, or it is parked with its equals."""
        turn, self._current = self._current, None
        assert turn is not None
        if where is Where.HEAP:
            late = not (sticky or turn.apart)
            self._push(turn if turn.late is late else turn._replace(late=late))

    def advance(self) -> None:
        """The last popped workload was admitted: the next of its equals takes its place."""
        turn, self._current = self._current, None
        if turn is not None and not turn.apart:
            self._push_next(turn.lane, turn.position + 1)

    def behind(self, head: str) -> list[Demand]:
        """Demands whose turn may still come, without that of `head` (uid)."""
        turns = [turn for heap in self._heaps.values() for turn in heap]
        own = {t.lane for t in turns if t.uid == head}
        return [self._lanes[t.lane].demand for t in turns if t.lane not in own]

    def _push_next(self, number: int, position: int) -> None:
        entries = self._lanes[number].entries
        while position < len(entries) and entries[position].uid in self._sticky:
            position += 1
        if position < len(entries):
            self._push(self._turn(number, position, apart=False))

    def _push(self, turn: _Turn) -> None:
        door = ""
        if self.ranks is not None:
            entry = self._lanes[turn.lane].entries[turn.position]
            door = f"{entry.namespace}/{entry.local_queue}"
        heap = self._heaps.get(door)
        if heap is None:
            self._heaps[door] = [turn]
        else:
            heapq.heappush(heap, turn)

    def _turn(self, number: int, position: int, *, apart: bool) -> _Turn:
        lane = self._lanes[number]
        entry = lane.entries[position]
        priority = -lane.demand.priority
        return _Turn(not apart, priority, entry.queued_at, entry.uid, number, position, apart)

    def _pending(self, turn: _Turn) -> PendingWorkload:
        lane = self._lanes[turn.lane]
        entry, demand = lane.entries[turn.position], lane.demand
        known = self._known.get(entry.uid)
        if known is not None:
            return known if known.demand is not None else replace(known, demand=demand)
        return PendingWorkload(
            uid=entry.uid, namespace=entry.namespace, name="", queue=demand.queue,
            pod_sets=demand.pod_sets, priority=demand.priority, queued_at=entry.queued_at,
            local_queue=entry.local_queue, demand=demand, epoch=entry.epoch,
            generation=entry.generation,
            nominated=entry.uid in self._nominated,
        )  # fmt: skip

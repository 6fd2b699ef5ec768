"""Waiting workloads per ClusterQueue: a heap of those whose turn may come, and a park (queueing 1.2).

Order: sticky preemptors, then fair-admission rank where the queue asks for it, priority descending,
queue-order timestamp, uid. A rank may change while others are admitted, so there the next is sought
anew.
"""

import heapq
from collections.abc import Iterable, Mapping

from hub.domain.quota import ClusterQueue
from hub.domain.requeue import Where
from hub.domain.shape import shape_hash
from hub.domain.standing import Contender, Identity

_Key = tuple[bool, int, int, Identity]
_Class = tuple[object, ...]


class Waitline:
    """One ClusterQueue's heap and park. `ranks` is None where history does not count."""

    __slots__ = ("_heap", "_refused", "_sticky", "parked", "queue", "ranks")

    def __init__(self, queue: ClusterQueue, ranks: Mapping[str, float] | None = None) -> None:
        self.queue = queue
        self.ranks = ranks
        self.parked: dict[str, Contender] = {}
        self._sticky: set[str] = set()
        self._refused: set[_Class] = set()  # what holds of one holds of its equals
        self._heap: list[tuple[_Key, Contender]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, who: Contender) -> None:
        """Its turn may come."""
        heapq.heappush(self._heap, (self._key(who), who))

    def extend(self, many: Iterable[Contender]) -> None:
        """The turn of all of these may come."""
        self._heap.extend((self._key(who), who) for who in many)
        heapq.heapify(self._heap)

    def pop(self) -> Contender | None:
        """Take the head, if there is one; equals of what was refused are parked on the way."""
        while self._heap:
            who = self._take()
            if not self._refused or who.uid in self._sticky or _alike(who) not in self._refused:
                return who
            self.parked[who.uid] = who
        return None

    def _take(self) -> Contender:
        if self.ranks is None:
            return heapq.heappop(self._heap)[1]
        at = min(range(len(self._heap)), key=self._ranked)
        _, who = self._heap.pop(at)
        heapq.heapify(self._heap)
        return who

    def _ranked(self, at: int) -> tuple[float, _Key]:
        assert self.ranks is not None
        key, who = self._heap[at]
        return self.ranks.get(f"{who.namespace}/{who.local_queue}", 0.0), key

    def put_back(self, who: Contender, where: Where, *, sticky: bool = False) -> None:
        """After an attempt: to the heap or into the park; sticky ones go before all others."""
        if sticky:
            self._sticky.add(who.uid)
        else:
            self._sticky.discard(who.uid)
        if where is Where.HEAP:
            self.push(who)
        else:
            self.parked[who.uid] = who

    def wake(self) -> None:
        """Something changed in the cohort's tree: the turn of the parked may come again."""
        self._refused.clear()
        if self.parked:
            woken, self.parked = self.parked, {}
            self.extend(woken.values())

    def park_equals(self, who: Contender) -> None:
        """What was refused to one is refused to its equals until the next wake: none has a turn."""
        self._refused.add(_alike(who))

    def _key(self, who: Contender) -> _Key:
        return who.uid not in self._sticky, -who.priority, who.queued_at, who.identity


def _alike(who: Contender) -> _Class:
    """What a verdict on flavors and victims depends on, besides the queue."""
    return who.priority, shape_hash(who.pod_sets), tuple(sorted(who.annotations.items()))

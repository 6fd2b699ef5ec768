"""Waiting workloads per ClusterQueue: a heap of those whose turn may come, and a park (queueing 1.2).

Order: sticky preemptors, then fair-admission rank where the queue asks for it, priority descending,
queue-order timestamp, uid. A rank may change while others are admitted, so there the next is sought
anew. Equal workloads share a lane: what is refused to one is refused to all of them at once, so that
parking and waking cost as much as there are lanes, however many wait.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping

from hub.domain.queueing.requeue import Where
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import Identity, PendingWorkload
from hub.domain.workloads.shape import shape_hash

_Key = tuple[bool, int, int, Identity]
_Class = tuple[object, ...]


class _Lane:
    """Equal workloads in order. `refused`: what was refused to one of them; until that may change
    none has a turn.
    """

    __slots__ = ("entries", "last", "local_queue", "refused")

    def __init__(self, local_queue: str) -> None:
        self.entries: list[tuple[_Key, PendingWorkload]] = []
        self.local_queue = local_queue
        self.refused: object = None
        self.last: object = None  # what was refused before the last wake


class Waitline:
    """One ClusterQueue's heap and park. `ranks` is None where history does not count."""

    __slots__ = (
        "_heads", "_lanes", "_shapes", "_sticky", "_waiting", "may_change", "parked", "queue",
        "ranks",
    )  # fmt: skip

    def __init__(self, queue: ClusterQueue, ranks: Mapping[str, float] | None = None) -> None:
        self.queue = queue
        self.ranks = ranks
        self.may_change: Callable[[object], bool] | None = (
            None  # of what was refused; None: always
        )
        self.parked: dict[str, PendingWorkload] = {}  # one by one
        self._sticky: set[str] = set()
        self._lanes: dict[_Class, _Lane] = {}
        self._heads: list[
            tuple[_Key, _Class]
        ] = []  # of lanes; one that is its lane's no more is stale
        self._waiting = 0
        self._shapes: dict[int, tuple[object, str]] = {}  # id → those pod sets and their hash

    def __len__(self) -> int:
        """How many wait, parked or not."""
        return self._waiting

    def push(self, who: PendingWorkload) -> None:
        """Its turn may come."""
        self._waiting += 1
        self._enter(who)

    def extend(self, many: Iterable[PendingWorkload]) -> None:
        """The turn of all of these may come."""
        touched = set()
        for who in many:
            self._waiting += 1
            of = self._class_of(who)
            self._lane(of, who).entries.append((self._key(who), who))
            touched.add(of)
        for of in touched:
            heapq.heapify(self._lanes[of].entries)
            self._show(of)

    def discard(self, who: PendingWorkload) -> None:
        """It waits no longer. Costs as much as its lane is long."""
        if self.parked.pop(who.uid, None) is None:
            of = self._class_of(who)
            lane = self._lanes.get(of)
            if lane is None or not any(w.uid == who.uid for _, w in lane.entries):
                return
            lane.entries = [item for item in lane.entries if item[1].uid != who.uid]
            heapq.heapify(lane.entries)
            self._show(of)
        self._sticky.discard(who.uid)
        self._waiting -= 1

    def pop(self) -> PendingWorkload | None:
        """Take the head, if there is one. Whom the same would be refused again has no turn."""
        while (of := self._next()) is not None:
            lane = self._lanes[of]
            if lane.last is None or self.may_change is None or self.may_change(lane.last):
                return self._take(of)
            lane.refused = lane.last
        return None

    def _next(self) -> _Class | None:
        if self.ranks is None:
            while self._heads:
                key, of = heapq.heappop(self._heads)
                if self._is_head(key, of):
                    return of
            return None
        self._heads = [head for head in set(self._heads) if self._is_head(*head)]
        return min(self._heads, key=self._ranked)[1] if self._heads else None

    def _take(self, of: _Class) -> PendingWorkload:
        _, who = heapq.heappop(self._lanes[of].entries)
        self._waiting -= 1
        self._show(of)
        return who

    def _is_head(self, key: _Key, of: _Class) -> bool:
        lane = self._lanes.get(of)
        return (
            lane is not None
            and lane.refused is None
            and bool(lane.entries)
            and lane.entries[0][0] == key
        )

    def _ranked(self, head: tuple[_Key, _Class]) -> tuple[float, _Key]:
        assert self.ranks is not None
        return self.ranks.get(self._lanes[head[1]].local_queue, 0.0), head[0]

    def put_back(self, who: PendingWorkload, where: Where, *, sticky: bool = False) -> None:
        """After an attempt: to the heap or into the park; sticky ones go before all others."""
        self._waiting += 1
        if sticky:
            self._sticky.add(who.uid)
        else:
            self._sticky.discard(who.uid)
        if where is Where.HEAP:
            self._enter(who)
        else:
            self.parked[who.uid] = who

    def park_equals(self, who: PendingWorkload, why: object = True) -> None:
        """What was refused to one is refused to its equals: none has a turn until `wake`."""
        lane = self._lane(self._class_of(who), who)
        lane.refused = why
        if self.parked.pop(who.uid, None) is not None:
            heapq.heappush(lane.entries, (self._key(who), who))

    def wake(self) -> None:
        """Something changed in the cohort's tree: the turn of the parked may come again.

        Where `may_change` says that a refusal is as it was, that turn is spared them once more.
        """
        for of, lane in list(self._lanes.items()):
            if not lane.entries:
                del self._lanes[of]
            elif lane.refused is not None:
                lane.refused, lane.last = None, lane.refused
                self._show(of)
        woken, self.parked = self.parked, {}
        for who in woken.values():
            self._enter(who)

    def _enter(self, who: PendingWorkload) -> None:
        of = self._class_of(who)
        heapq.heappush(self._lane(of, who).entries, (self._key(who), who))
        self._show(of)

    def _show(self, of: _Class) -> None:
        """The head of a lane takes its place among the others."""
        lane = self._lanes[of]
        if lane.entries and lane.refused is None:
            heapq.heappush(self._heads, (lane.entries[0][0], of))

    def _lane(self, of: _Class, who: PendingWorkload) -> _Lane:
        lane = self._lanes.get(of)
        if lane is None:
            lane = self._lanes[of] = _Lane(f"{who.namespace}/{who.local_queue}")
        return lane

    def _class_of(self, who: PendingWorkload) -> _Class:
        """What a verdict on flavors and victims depends on, besides the queue; a sticky one is alone."""
        if who.uid in self._sticky:
            return (False, who.uid)
        door = "" if self.ranks is None else f"{who.namespace}/{who.local_queue}"
        return (
            True,
            -who.priority,
            shape_hash(who.pod_sets),
            str(sorted(who.annotations.items())),
            door,
        )

    def _shape(self, who: PendingWorkload) -> str:
        known = self._shapes.get(id(who.pod_sets))
        if known is None:
            known = self._shapes[id(who.pod_sets)] = (who.pod_sets, shape_hash(who.pod_sets))
        return known[1]

    def _key(self, who: PendingWorkload) -> _Key:
        return who.uid not in self._sticky, -who.priority, who.queued_at, who.identity

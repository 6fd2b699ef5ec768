"""Everything that waits, in order, with who is parked and what wakes them.

Equal workloads share a lane; a lane whose demand was refused is parked: a cycle does not look at it
again until what it lacked may be there. So a cycle costs as much as there are demands that could
move, however many workloads wait.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from typing import NamedTuple

from hub.domain.plan import Reason, Refusal, behind
from hub.domain.queueing.entries import Entries
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.ledger import Ledger
from hub.domain.workloads.demand import Demand

RankOf = Callable[[Demand, Entry], float]  # the lower goes first, before priority

_FOR_QUOTA = frozenset({Reason.WAITING_FOR_QUOTA, Reason.WAITING_FOR_VICTIMS})
_FOR_ROOM = frozenset({Reason.NO_CLUSTER_FITS, Reason.NO_CLUSTER_MATCHES})


class Told(NamedTuple):
    """The last stored reason of a lane's workloads, and its time."""

    reason: str
    message: str
    at: dt.datetime


class WaitingLane:
    """Equal workloads in order. `parked`: why a cycle need not look at them; None while it should."""

    __slots__ = ("_entries", "demand", "home", "parked", "refusal", "refused", "told", "untold")

    def __init__(self, demand: Demand, home: "_QueueLanes") -> None:
        self.demand = demand
        self.home = home  # its queue's; `Waiting` parks, and counts there
        self.parked: Refusal | None = None
        self.refusal: Refusal | None = None  # the last one, kept when woken
        self.refused: tuple[dt.datetime, int] | None = (
            None  # when last, and a number for the room then
        )
        self.told: Told | None = None
        self.untold: dict[str, Entry] = {}  # by uid: who does not say `told`, since the start
        self._entries = Entries()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def owe(self, entry: Entry) -> None:
        """A workload that lacks the reason of its class; if most do, no workload has it."""
        self.untold[entry.uid] = entry
        if 2 * len(self.untold) > len(self):
            self.told, self.untold = None, {}

    def fill(self, entries: Sequence[Entry]) -> None:
        """Insert many at once, in order, into an empty structure."""
        assert not self
        self._entries = Entries(entries)

    def add(self, entry: Entry) -> None:
        """Put a workload in its place."""
        self._entries.add(entry)

    def remove(self, entry: Entry) -> None:
        """Take a workload out."""
        self.untold.pop(entry.uid, None)
        self._entries.remove(entry)

    def first(self, limit: int) -> Sequence[Entry]:
        """The first `limit` workloads."""
        return self._entries.first(limit)

    def last(self) -> Entry:
        """The last workload; there is one."""
        return self._entries.last()

    def rank(self, entry: Entry) -> int:
        """The number of entries of the lane before `entry`."""
        return self._entries.rank(entry)


class InLine(NamedTuple):
    """The numbers of considered and of parked workloads of one ClusterQueue."""

    active: int = 0
    parked: int = 0


class _QueueLanes:
    """The lanes of one ClusterQueue by demand's key, and how many wait in them."""

    __slots__ = ("active", "lanes", "parked")

    def __init__(self) -> None:
        self.lanes: dict[str, WaitingLane] = {}
        self.active = self.parked = 0

    def count(self, lane: WaitingLane, more: int) -> None:
        """Add a number to one of the lanes."""
        if lane.parked is None:
            self.active += more
        else:
            self.parked += more


class Waiting:
    """The lanes of all ClusterQueues. `rank_of`: of LocalQueues, where history counts; None: nowhere."""

    def __init__(self) -> None:
        self.rank_of: RankOf | None = None
        self._lines: dict[str, _QueueLanes] = {}  # by queue with waiting workloads
        self._where: dict[str, tuple[WaitingLane, Entry]] = {}  # by uid

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, uid: object) -> bool:
        return uid in self._where

    def add(self, demand: Demand, entry: Entry) -> None:
        """A workload waits: a new one, or one whose demand or place in the order changed."""
        found = self._where.get(entry.uid)
        if found is not None:
            lane, present = found
            if present == entry and lane.demand.key == demand.key:
                return
            self.remove(entry.uid)
        lane = self.lane(demand)
        lane.add(entry)
        lane.home.count(lane, 1)
        self._where[entry.uid] = (lane, entry)

    def fill(self, demand: Demand, entries: Sequence[Entry]) -> None:
        """Insert many waiting workloads, in order, of a demand without any."""
        lane = self.lane(demand)
        lane.fill(entries)
        lane.home.count(lane, len(entries))
        where = self._where
        for entry in entries:
            where[entry.uid] = (lane, entry)

    def remove(self, uid: str) -> None:
        """A workload waits no longer."""
        found = self._where.pop(uid, None)
        if found is None:
            return
        lane, entry = found
        lane.remove(entry)
        line = lane.home
        line.count(lane, -1)
        if not lane:
            del line.lanes[lane.demand.key]
            if not line.lanes:
                del self._lines[lane.demand.queue]

    def _park(self, lane: WaitingLane, refusal: Refusal | None) -> None:
        """Park a lane, or unpark it."""
        if (lane.parked is None) != (refusal is None):
            number = len(lane) if lane.parked is None else -len(lane)
            lane.home.active -= number
            lane.home.parked += number
        lane.parked = refusal

    def in_line(self) -> dict[str, InLine]:
        """The numbers of considered and parked workloads, by ClusterQueue; costs O(queues)."""
        return {name: InLine(line.active, line.parked) for name, line in self._lines.items()}

    def lane(self, demand: Demand) -> WaitingLane:
        """The lane of a demand, created if absent."""
        line = self._lines.get(demand.queue)
        if line is None:
            line = self._lines[demand.queue] = _QueueLanes()
        lane = line.lanes.get(demand.key)
        if lane is None:
            lane = line.lanes[demand.key] = WaitingLane(demand, line)
        return lane

    def entry(self, uid: str) -> Entry | None:
        """A workload's place in its lane."""
        found = self._where.get(uid)
        return None if found is None else found[1]

    def find(self, uid: str) -> WaitingLane | None:
        """The lane a workload waits in."""
        found = self._where.get(uid)
        return None if found is None else found[0]

    def queues(self) -> KeysView[str]:
        """ClusterQueues with waiting workloads."""
        return self._lines.keys()

    def lanes(self, queue: str) -> Iterable[WaitingLane]:
        """The lanes of one queue."""
        line = self._lines.get(queue)
        return () if line is None else line.lanes.values()

    def every_lane(self) -> Iterator[WaitingLane]:
        for line in self._lines.values():
            yield from line.lanes.values()

    def count(self, queue: str) -> int:
        """The number of waiting workloads in one queue."""
        line = self._lines.get(queue)
        return 0 if line is None else line.active + line.parked

    def position(self, uid: str) -> tuple[int, int] | None:
        """Place in the own queue and among everything that waits, both from 1; None if it does not.

        No workload passes those before it in its own queue. So of other queues all count that come, by
        priority
        and time, before it or before any of those.
        """
        found = self._where.get(uid)
        if found is None:
            return None
        lane, entry = found
        lanes = self.lanes(lane.demand.queue)
        rank = 0.0 if self.rank_of is None else self.rank_of(lane.demand, entry)
        own, last = (
            0,
            (-lane.demand.priority, entry),
        )  # of those up to itself who goes last elsewhere
        for each in lanes:
            theirs = rank if self.rank_of is None else self._rank(each)
            if theirs == rank:
                own += _before(each, lane.demand.priority, entry)
            elif theirs < rank:
                own += len(each)
                last = max(last, (-each.demand.priority, each.last()))
        others = (each for each in self.every_lane() if each.home is not lane.home)
        overall = own + sum(_before(each, -last[0], last[1]) for each in others)
        return own + 1, overall + 1

    def movable(self, queue: ClusterQueue, limit: int, *, parked: bool = False) -> list[Lane]:
        """The entries of one queue for a cycle: of lanes that are not parked, `limit` entries each.

        In a StrictFIFO queue no workload passes the head: if its lane is parked, there is nothing.
        With `parked` those are given too: they keep their place before others.
        """
        lanes = [lane for lane in self.lanes(queue.name) if lane]
        if parked:
            lanes = [lane for lane in lanes if queue.strict or lane.parked is None]
        elif queue.strict and lanes:
            head = min(lanes, key=self._order)
            lanes = [] if head.parked is not None else lanes
        else:
            lanes = [lane for lane in lanes if lane.parked is None]
        return [Lane(lane.demand, lane.first(limit)) for lane in lanes]

    def behind_head(self, queue: ClusterQueue, lane: WaitingLane) -> Refusal | None:
        """The reason why a lane waits behind the parked head of its StrictFIFO queue; else None."""
        if not queue.strict:
            return None
        head = self.head(queue.name)
        if head is None or head is lane or head.parked is None:
            return None
        return behind(lane.demand.key, queue.name, head.first(1)[0].uid)

    def head(self, queue: str) -> WaitingLane | None:
        """The lane whose first workload is the head of its queue; None if none waits."""
        return min((each for each in self.lanes(queue) if each), key=self._order, default=None)

    def _rank(self, lane: WaitingLane) -> float:
        return 0.0 if self.rank_of is None else self.rank_of(lane.demand, lane.first(1)[0])

    def _order(self, lane: WaitingLane) -> tuple[float, int, Entry]:
        return self._rank(lane), -lane.demand.priority, lane.first(1)[0]

    def park(self, refusals: Iterable[Refusal]) -> list[WaitingLane]:
        """Remember what a cycle refused; those that are merely behind a head are not parked by it."""
        told = []
        for refusal in refusals:
            line = self._lines.get(refusal.queue)
            lane = None if line is None else line.lanes.get(refusal.demand)
            if lane is not None:
                lane.refusal = refusal
                self._park(lane, None if refusal.reason is Reason.BEHIND_HEAD else refusal)
                told.append(lane)
        return told

    def wake(self, which: Callable[[WaitingLane, Refusal], bool] | None = None) -> int:
        """Unpark all lanes, or those that `which` selects; returns their number."""
        woken = 0
        for lane in self.every_lane():
            if lane.parked is not None and (which is None or which(lane, lane.parked)):
                self._park(lane, None)
                woken += 1
        return woken

    def wake_lane(self, lane: WaitingLane) -> None:
        """Unpark one lane."""
        self._park(lane, None)

    def wake_queue(self, queue: str) -> None:
        """Unpark everything in one queue: its rules changed."""
        for lane in self.lanes(queue):
            self._park(lane, None)

    def wake_for_quota(self, queue: str, ledger: Ledger, *, any_shortage: bool = False) -> None:
        """Quota that `queue` may use was released: unpark workloads whose shortage is over.

        With `any_shortage` all who lack quota: less may have to be preempted for them now. Those who
        fitted, had others not come first in the same round, lack nothing in numbers: they try again.
        """
        for lane in self.lanes(queue):
            parked = lane.parked
            if parked is None:
                continue
            if not parked.shortages:
                enough = parked.reason in _FOR_QUOTA
            else:
                enough = any_shortage or any(
                    s.asked <= ledger.available(queue, s.of) for s in parked.shortages
                )
            if enough:
                self._park(lane, None)

    def wake_for_room(self, best_node: Mapping[str, int], left: Mapping[str, int]) -> None:
        """A cluster's best node or total grew to this: unpark those that could use it."""

        def could(lane: WaitingLane, parked: Refusal) -> bool:
            return parked.reason in _FOR_ROOM and _may_fit(lane.demand, best_node, left)

        self.wake(could)

    def wake_all_for_room(self) -> None:
        """The fleet changed its members, labels or nodes."""
        self.wake(lambda lane, parked: parked.reason in _FOR_ROOM)

    def wake_due(self, now: dt.datetime) -> None:
        """Unpark workloads that only had to wait for a time."""
        self.wake(lambda lane, parked: parked.retry_at is not None and parked.retry_at <= now)


def _may_fit(demand: Demand, best_node: Mapping[str, int], left: Mapping[str, int]) -> bool:
    """Necessary, not sufficient: one pod of each set fits the best node, all pods fit the cluster."""
    total: dict[str, int] = {}
    for pod_set in demand.pod_sets:
        for resource, amount in pod_set.requests.items():
            if amount > best_node.get(resource, 0):
                return False
            total[resource] = total.get(resource, 0) + amount * pod_set.count
    return all(amount <= left.get(resource, 0) for resource, amount in total.items())


def _before(lane: WaitingLane, priority: int, entry: Entry) -> int:
    """The number of workloads of `lane` before an entry of that priority."""
    if lane.demand.priority != priority:
        return len(lane) if lane.demand.priority > priority else 0
    return lane.rank(entry)

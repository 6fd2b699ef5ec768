"""Classes whose reason to wait has figures of an earlier moment: the next cycle looks at them again.

A parked class is woken by what may let it in. What merely changes the numbers of its reason (a lower quota,
others who come and go, room for more of its pods) wakes nobody, so rows, conditions and lists would keep
them for as long as it waits. A few of the classes refused before such a change are checked again.
"""

import datetime as dt
from collections import deque
from typing import Final

from hub.domain.admission.shortages import shortage
from hub.domain.fleet.free_capacity import Room
from hub.domain.plan import Reason, Refusal
from hub.domain.queueing.pending import Waiting, WaitingLane
from hub.domain.quota.tree import QuotaTree

AFTER: Final = dt.timedelta(seconds=10)  # so old a reason may be
EVERY: Final = dt.timedelta(seconds=2)  # interval of the checks, while cycles run
LOOKS: Final = 2_000  # classes whose figures are compared at a time: ten milliseconds
MOST: Final = 32  # classes looked at again at a time: what a cycle costs is theirs

_OF_ROOM: Final = frozenset({Reason.NO_CLUSTER_FITS, Reason.NO_CLUSTER_MATCHES})


class StaleFigures:
    """When each class was refused, and with which room. Its lanes keep that: `WaitingLane.refused`.

    Refused classes stand in a line; each look takes the first `LOOKS` of it. With more of them figures grow
    older, while a look costs what it did.
    """

    def __init__(self) -> None:
        self._looked_at: dt.datetime | None = None
        self._line: deque[WaitingLane] = deque()
        self._in_line: set[WaitingLane] = set()

    def note(self, lane: WaitingLane, room: int, now: dt.datetime) -> None:
        """A class was refused now, on a fleet with that room (`room_of`)."""
        lane.refused = now, room
        if lane not in self._in_line:
            self._in_line.add(lane)
            self._line.append(lane)

    def wake(self, waiting: Waiting, tree: QuotaTree, room: Room, now: dt.datetime) -> None:
        """Have a cycle look at up to `MOST` classes whose figures are old and no longer those of now."""
        if self._looked_at is not None and now - self._looked_at < EVERY:
            return
        self._looked_at = now
        left, present = MOST, room_of(room)
        for _ in range(min(LOOKS, len(self._line))):
            lane = self._line.popleft()
            if not lane or lane.parked is None or lane.refused is None:
                self._in_line.remove(lane)  # empty, or the next cycle looks at it anyhow
                continue
            self._line.append(lane)
            if now - lane.refused[0] < AFTER or not _changed(lane, lane.parked, tree, present):
                continue
            waiting.wake_lane(lane)
            left -= 1
            if not left:
                return


def room_of(room: Room) -> int:
    """A number that changes when what is left of any cluster does."""
    return hash(room.left.tobytes())


def _changed(lane: WaitingLane, parked: Refusal, tree: QuotaTree, room: int) -> bool:
    if parked.reason in _OF_ROOM:
        return lane.refused is not None and lane.refused[1] != room
    node = tree.queues.get(parked.queue)
    return node is not None and any(
        shortage(tree, node, s.of, s.asked) != s for s in parked.shortages
    )

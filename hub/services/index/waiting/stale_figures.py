"""Classes whose reason to wait has figures of an earlier moment: the next cycle looks at them again.

A parked class is woken by what may let it in. What merely changes the numbers of its reason (a lower quota,
others who come and go, room for more of its pods) wakes nobody, so rows, conditions and lists would keep
them for as long as it waits. A few of the classes refused before such a change are looked at again.
"""

import datetime as dt
from typing import Final

from hub.domain.admission.shortages import shortage
from hub.domain.fleet.free_capacity import Room
from hub.domain.plan import Reason, Refusal
from hub.domain.queueing.pending import Waiting, WaitingLane
from hub.domain.quota.tree import QuotaTree

AFTER: Final = dt.timedelta(seconds=10)  # so old a reason may be
EVERY: Final = dt.timedelta(seconds=2)  # so often is looked, while cycles are taken
MOST: Final = 32  # classes looked at again at a time: what a cycle costs is theirs

_OF_ROOM: Final = frozenset({Reason.NO_CLUSTER_FITS, Reason.NO_CLUSTER_MATCHES})


class StaleFigures:
    """When each class was refused, and with which room. Its lanes keep that: `WaitingLane.refused`."""

    def __init__(self) -> None:
        self._looked_at: dt.datetime | None = None

    def note(self, lane: WaitingLane, room: int, now: dt.datetime) -> None:
        """A class was refused now, on a fleet with that room (`room_of`)."""
        lane.refused = now, room

    def wake(self, waiting: Waiting, tree: QuotaTree, room: Room, now: dt.datetime) -> None:
        """Have a cycle look at up to `MOST` classes whose figures are old and no longer those of now."""
        if self._looked_at is not None and now - self._looked_at < EVERY:
            return
        self._looked_at = now
        left, present = MOST, room_of(room)

        def is_stale(lane: WaitingLane, parked: Refusal) -> bool:
            nonlocal left
            if not left or lane.refused is None or now - lane.refused[0] < AFTER:
                return False
            if not _changed(lane, parked, tree, present):
                return False
            left -= 1
            return True

        waiting.wake(is_stale)


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

"""Pending reasons that rows of waiting workloads do not have yet: written a bounded number at a time.

A class may hold a million workloads, and its reason may change often: telling each of them at once
would cost more than scheduling does. Explanations, kept per class, are never late.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from hub.domain.plan import Reason, Refusal
from hub.domain.queueing.lanes import Entry
from hub.domain.queueing.pending import Told, WaitingLane
from hub.domain.workloads.demand import SAID_BY_MEMBER
from hub.store.records.workloads import ReasonToWait

# The same reason with other numbers is written again at most this often.
SAME_REASON_AGAIN: Final = dt.timedelta(seconds=5)
# … and then only to the first of the class: the numbers of the others are those of when they were told.
FIRST_OF_CLASS: Final = 100
MESSAGE_CHARS: Final = 1000
_NOTHING: Final = ("", "")


class PendingReasons:
    """Reasons waiting to be written."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, str]] = {}
        self._lanes: dict[str, tuple[Refusal, Iterator[Entry]]] = {}  # by demand
        self._late: dict[
            str, tuple[WaitingLane, Refusal]
        ] = {}  # refused again too soon, by demand
        self._refused: set[str] = set()  # rows that say which field and rule a member refused

    def note(self, uid: str, reason: str) -> None:
        """The message of a workload that begins to wait, or "" once it no longer waits."""
        if reason in SAID_BY_MEMBER:
            self._refused.add(uid)
        elif self._refused:
            self._refused.discard(uid)

    def one(self, uid: str, reason: str, message: str) -> None:
        """One row should say this."""
        self._rows[uid] = (reason, message)

    def forget(self, uid: str) -> None:
        """The row says what it should, or it waits no longer."""
        self._rows.pop(uid, None)

    def lane(self, lane: WaitingLane, refusal: Refusal, now: dt.datetime) -> bool:
        """A whole class was refused; False if that is not news (yet).

        Who joins it later, or is read again, is told by itself what its class was told.
        """
        told = lane.told
        same_reason = told is not None and told.reason == refusal.reason
        if told is not None and same_reason:
            if told.message == refusal.message:
                self._late.pop(refusal.demand, None)
                return False
            if now - told.at < SAME_REASON_AGAIN:
                self._late[refusal.demand] = (lane, refusal)
                return False
        self._late.pop(refusal.demand, None)
        lane.told = Told(refusal.reason, refusal.message, now)
        some = chain(lane.first(FIRST_OF_CLASS), lane.untold.values())
        entries, lane.untold = some if same_reason else lane, {}
        self._lanes[refusal.demand] = (refusal, iter(entries))
        return True

    def late(self, now: dt.datetime) -> None:
        """Tell those that were refused again too soon, if nothing else was said of them since."""
        for lane, refusal in list(self._late.values()):
            if lane.told is None or now - lane.told.at >= SAME_REASON_AGAIN:
                self._late.pop(refusal.demand, None)
                if lane.refusal == refusal:
                    self.lane(lane, refusal, now)

    def take(self, limit: int, waits: Callable[[str], bool]) -> list[ReasonToWait]:
        """Up to `limit` rows to write, of workloads that still wait."""
        taken: dict[str, tuple[str, str]] = {}
        while self._rows and len(taken) < limit:
            uid, told = self._rows.popitem()
            if waits(uid):
                taken[uid] = told
        for key in list(self._lanes):
            refusal, entries = self._lanes[key]
            while len(taken) < limit:
                entry = next(entries, None)
                if entry is None:
                    del self._lanes[key]
                    break
                if entry.uid in self._refused and refusal.reason == Reason.NO_CLUSTER_MATCHES:
                    continue
                if entry.uid == refusal.head:
                    continue  # the head of its queue, with others of its class behind it
                if waits(entry.uid) and not taken.get(entry.uid, _NOTHING)[0]:
                    # Looked at after a row was cleared.
                    taken[entry.uid] = (refusal.reason, refusal.message)
        return [
            {"uid": uid, "reason": reason, "message": message[:MESSAGE_CHARS]}
            for uid, (reason, message) in taken.items()
        ]

    def __bool__(self) -> bool:
        return bool(self._rows or self._lanes)

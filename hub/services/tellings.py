"""What rows of waiting workloads should say and do not say yet: written a bounded number at a time.

A class may hold a million workloads, and its reason may change often: telling each of them at once
would cost more than scheduling does. Explanations, kept per class, are never late.
"""

import datetime as dt
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from hub.domain.demand import SAID_BY_MEMBER
from hub.domain.plan import Reason, Refusal
from hub.domain.queueing import Entry
from hub.domain.waiting import WaitingLane

# The same reason with other numbers is told again at most this often.
SAME_REASON_AGAIN: Final = dt.timedelta(seconds=5)
# … and then only to the first of the class: the numbers of the others are those of when they were told.
FIRST_OF_CLASS: Final = 100
MESSAGE_CHARS: Final = 1000
_NOTHING: Final = ("", "")


class _Told(NamedTuple):
    """What the workloads of a class were last told."""

    reason: str
    message: str
    at: dt.datetime


class Tellings:
    """Reasons waiting to be written."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, str]] = {}
        self._lanes: dict[str, tuple[str, str, Iterator[Entry]]] = {}  # by demand
        self._told: dict[str, _Told] = {}
        self._refused: set[str] = set()  # rows that say which field and rule a member refused

    def note(self, uid: str, reason: str) -> None:
        """What the row of a workload that begins to wait says, or "" once it waits no longer."""
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
        """A whole class was refused; False if that is not news (yet)."""
        told = self._told.get(refusal.demand)
        same_reason = told is not None and told.reason == refusal.reason
        if told is not None and same_reason:
            recent = now - told.at < SAME_REASON_AGAIN
            if recent or told.message == refusal.message:
                return False
        self._told[refusal.demand] = _Told(refusal.reason, refusal.message, now)
        entries = lane.first(FIRST_OF_CLASS) if same_reason else lane
        self._lanes[refusal.demand] = (refusal.reason, refusal.message, iter(entries))
        return True

    def take(self, limit: int, waits: Callable[[str], bool]) -> list[dict[str, str]]:
        """Up to `limit` rows to write, of workloads that still wait."""
        taken: dict[str, tuple[str, str]] = {}
        while self._rows and len(taken) < limit:
            uid, told = self._rows.popitem()
            if waits(uid):
                taken[uid] = told
        for key in list(self._lanes):
            reason, message, entries = self._lanes[key]
            while len(taken) < limit:
                entry = next(entries, None)
                if entry is None:
                    del self._lanes[key]
                    break
                if entry.uid in self._refused and reason == Reason.NO_CLUSTER_MATCHES:
                    continue
                if waits(entry.uid) and not taken.get(entry.uid, _NOTHING)[0]:
                    taken[entry.uid] = (reason, message)  # looked at after a row was cleared
        return [
            {"uid": uid, "reason": reason, "message": message[:MESSAGE_CHARS]}
            for uid, (reason, message) in taken.items()
        ]

    def __bool__(self) -> bool:
        return bool(self._rows or self._lanes)

    def __len__(self) -> int:
        """Classes remembered."""
        return len(self._told)

    def trim(self, alive: Collection[str]) -> None:
        """Forget what was told of classes that nobody waits in."""
        self._told = {key: told for key, told in self._told.items() if key in alive}

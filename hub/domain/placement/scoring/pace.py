"""Start rate of each member: starts still pending, jobs running, starts per second.

A member's pace is measured while at least `SATURATED` starts are pending there: with fewer, the rate
says how little it was given and not how much it could. A measurement counts half after `HALF_LIFE_S`; with
less than `KNOWN_AFTER_S` of it the pace is unknown, so that the hub tries a member again that once was
slow.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Final, NamedTuple

from hub.domain.fleet.create_window import CreateAnswers, CreateWindows
from hub.domain.workloads.states import State

SATURATED: Final = 10
HALF_LIFE_S: Final = 120.0
KNOWN_AFTER_S: Final = 5.0

_UNAPPLIED: Final = frozenset({str(State.PLACED), str(State.OFFERED)})
_PENDING: Final = _UNAPPLIED | {str(State.APPLIED)}
_STARTED: Final = frozenset({str(State.RUNNING), str(State.SUCCEEDED), str(State.FAILED)})
_ENDED: Final = frozenset({str(State.SUCCEEDED), str(State.FAILED)})


class Starts(NamedTuple):
    """One member: starts pending, jobs running, starts per second (None: not known).

    `unapplied`: those of the pending that the member has not created yet. `window`: the most of them that
    there may be, None for any number (`hub.domain.fleet.create_window`).
    """

    pending: int = 0
    running: int = 0
    pace: float | None = None
    unapplied: int = 0
    window: int | None = None

    @property
    def is_full(self) -> bool:
        """Are as many on their way there as may be?"""
        return self.window is not None and self.unapplied >= self.window


NO_STARTS: Final[Mapping[str, Starts]] = {}


class OpenWindows:
    """The remaining create windows of members, for decisions that follow one another."""

    def __init__(self, starts: Mapping[str, Starts]) -> None:
        self._limited = {n: told for n, told in starts.items() if told.window is not None}

    @property
    def limited(self) -> bool:
        """Has any member a window?"""
        return bool(self._limited)

    def left(self, member: str) -> int | None:
        """The number of further jobs that may be placed there; None: any number."""
        told = self._limited.get(member)
        return None if told is None else max(0, (told.window or 0) - told.unapplied)

    def is_open(self, member: str) -> bool:
        """May one more job be placed there?"""
        told = self._limited.get(member)
        return told is None or not told.is_full

    def take(self, member: str) -> bool:
        """Count one more job to be placed there; False where the window is full."""
        if not self.is_open(member):
            return False
        told = self._limited.get(member)
        if told is not None:
            self._limited[member] = told._replace(unapplied=told.unapplied + 1)
        return True

    def why_closed(self, member: str) -> str:
        """Message about a member whose window is full."""
        told = self._limited[member]
        return (
            f"its API server is overloaded: {told.unapplied} jobs sent to it are not created there "
            f"yet, and it may have {told.window}"
        )


class Paces:
    """Follows the states of workloads on members. The feeder sets `now`."""

    def __init__(self) -> None:
        self.now: dt.datetime | None = None
        self._members: dict[str, _Member] = {}
        self._where: dict[str, tuple[str, bool]] = {}  # uid → member, and has it started?
        self._unapplied: dict[str, str] = {}  # uid → member, not created there yet
        self._windows = CreateWindows()
        self._full: set[str] = set()  # members whose window was full since the last look

    def follow(self, uid: str, member: str, state: str) -> None:
        """A workload on a member is now in this state."""
        self._follow_unapplied(uid, member if state in _UNAPPLIED else "")
        home, started = self._where.get(uid, ("", False))
        if home and home != member:
            self._leave(uid)
            home, started = "", False
        if state in _STARTED:
            if home and not started:
                self._count(home, pending=-1, running=1, starts=1)
            elif not home and member:
                self._count(member, running=1)
            if member:
                self._where[uid] = (member, True)
            if state in _ENDED:
                self._leave(uid)
        elif state in _PENDING:
            if not home and member:
                self._count(member, pending=1)
                self._where[uid] = (member, False)
        elif state != State.UNKNOWN:  # the pace of an unreachable member is unknown again
            self._leave(uid)

    def drop(self, uid: str) -> None:
        """A workload is on no member any more."""
        self._follow_unapplied(uid, "")
        self._leave(uid)

    def _leave(self, uid: str) -> None:
        home, started = self._where.pop(uid, ("", False))
        if home:
            self._count(home, pending=0 if started else -1, running=-1 if started else 0)

    def _follow_unapplied(self, uid: str, member: str) -> None:
        """A workload is on its way to `member`; "": to none any more."""
        before = self._unapplied.get(uid, "")
        if before == member:
            return
        if before:
            self._members[before].unapplied -= 1
            del self._unapplied[uid]
        if member:
            self._members.setdefault(member, _Member()).unapplied += 1
            self._unapplied[uid] = member
            self._note_full(member)

    def _note_full(self, member: str) -> None:
        if self._is_full(member):
            self._full.add(member)

    def _is_full(self, member: str) -> bool:
        if self._windows.of(member) is None:
            return False
        known = self._members.get(member)
        return known is not None and self._told(member, known).is_full

    def report(self, member: str, told: CreateAnswers | None) -> None:
        """A member's agent reported how creates are answered there; None: as they should be."""
        known = self._members.get(member)
        if known is None and told is not None:
            known = self._members[member] = _Member()  # it has a window before it has any job
        self._windows.report(member, told, 0 if known is None else known.unapplied)
        self._note_full(member)

    def forget(self, member: str) -> None:
        """A member is gone."""
        self._windows.drop(member)

    def reopened(self) -> bool:
        """Did a full create window get room again since the last call?"""
        before, self._full = self._full, {name for name in self._full if self._is_full(name)}
        return len(self._full) < len(before)

    def _told(self, name: str, known: "_Member") -> Starts:
        return known.told()._replace(window=self._windows.of(name))

    def _count(self, name: str, *, pending: int = 0, running: int = 0, starts: int = 0) -> None:
        member = self._members.get(name)
        if member is None:
            member = self._members[name] = _Member()
        if self.now is not None:
            member.advance(self.now)
        member.starts += starts if member.pending >= SATURATED else 0
        member.pending += pending
        member.running += running

    def starts(self, now: dt.datetime) -> dict[str, Starts]:
        """Every member that was ever given something, as of now."""
        for member in self._members.values():
            member.advance(now)
        return {name: self._told(name, known) for name, known in self._members.items()}


class _Member:
    """Decayed counts of one member."""

    __slots__ = ("at", "busy_s", "pending", "running", "starts", "unapplied")

    def __init__(self) -> None:
        self.pending = 0
        self.running = 0
        self.unapplied = 0
        self.starts = 0.0  # while saturated, decayed
        self.busy_s = 0.0  # time of saturation, decayed
        self.at: dt.datetime | None = None

    def advance(self, now: dt.datetime) -> None:
        passed = 0.0 if self.at is None else (now - self.at).total_seconds()
        if self.at is not None and passed <= 0:
            return
        self.at = now
        kept = 0.5 ** (passed / HALF_LIFE_S)
        self.starts *= kept
        self.busy_s = self.busy_s * kept + (passed if self.pending >= SATURATED else 0.0)

    def told(self) -> Starts:
        # One start is taken as due, so that a member that has started nothing has a pace above zero.
        known = self.busy_s >= KNOWN_AFTER_S
        pace = (self.starts + 1) / self.busy_s if known else None
        return Starts(self.pending, self.running, pace, self.unapplied)

"""The course of a workload: in which phase it was from when to when, and its attempts.

Events say when it moved; what is not among them any more, or under a name of its own, follows from the
state in which it is now. Pure.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from hub.domain.workloads.states import TERMINAL, State


class Phase(StrEnum):
    """Phases of a workload for people."""

    WAITING = "waiting"
    HELD = "held"
    CHECKED = "checked"  # quota is charged, admission checks are open
    PLACING = "placing"  # a cluster is chosen; the offer to its agent follows
    STARTING = "starting"  # the Job is in the cluster; no pod has run
    RUNNING = "running"
    SILENT = "silent"  # its cluster does not answer
    LEAVING = "leaving"  # it is withdrawn from its cluster
    ENDED = "ended"


class Happening(NamedTuple):
    """One event of a workload."""

    at: dt.datetime
    reason: str
    message: str
    cluster: str = ""
    cause: str = ""  # the code of why


class Now(NamedTuple):
    """The present state. `ended_at` None: it has not ended."""

    state: str
    created_at: dt.datetime
    ended_at: dt.datetime | None
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """One phase. `until` None: it lasts; `again`: it waits, and has been placed before; `why` it began."""

    phase: Phase
    since: dt.datetime
    until: dt.datetime | None = None
    again: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One placement. `ended` "": it continues; else the event by which it ended, with its message."""

    cluster: str
    placed_at: dt.datetime
    started_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    ended: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Course:
    """Phases and attempts, the oldest first."""

    stretches: tuple[Stretch, ...]
    attempts: tuple[JobAttempt, ...]

    @property
    def last(self) -> Stretch:
        """The present phase, or the last one."""
        return self.stretches[-1]


_BY_REASON: Final[Mapping[str, Phase]] = {
    "Submitted": Phase.WAITING,
    "Held": Phase.HELD,
    "WaitsForJobs": Phase.HELD,
    "DependencyNeverSatisfied": Phase.HELD,
    "Released": Phase.WAITING,
    "QuotaReserved": Phase.CHECKED,
    "QuotaReleased": Phase.WAITING,
    "Placed": Phase.PLACING,
    "Admitted": Phase.RUNNING,  # a bare Workload: its executor runs it
    "Unplaced": Phase.WAITING,
    "Offered": Phase.PLACING,
    "Applied": Phase.STARTING,
    "Started": Phase.RUNNING,
    "Suspended": Phase.STARTING,  # by its member's queue, after it ran
    "ClusterUnreachable": Phase.SILENT,
    "Withdrawing": Phase.LEAVING,
    "Requeued": Phase.WAITING,
    "Succeeded": Phase.ENDED,
    "Failed": Phase.ENDED,
    "Cancelled": Phase.ENDED,
    "Deactivated": Phase.ENDED,
}
_EVICTED: Final = "EvictedDueTo"
_BY_STATE: Final[Mapping[str, Phase]] = {
    State.HELD: Phase.HELD,
    State.PENDING: Phase.WAITING,
    State.RESERVED: Phase.CHECKED,
    State.PLACED: Phase.PLACING,
    State.OFFERED: Phase.PLACING,
    State.APPLIED: Phase.STARTING,
    State.RUNNING: Phase.RUNNING,
    State.WITHDRAWING: Phase.LEAVING,
    State.UNKNOWN: Phase.SILENT,
    **dict.fromkeys(TERMINAL, Phase.ENDED),
}
_THERE: Final = frozenset(
    {Phase.PLACING, Phase.STARTING, Phase.RUNNING, Phase.SILENT, Phase.LEAVING}
)


def course_of(now: Now, told: Sequence[Happening]) -> Course:
    """Its course; `told`: its events, oldest first, which may begin later than it did."""
    walk = _Walk(now.created_at)
    for happening in told:
        walk.take(happening)
    walk.arrive(now)
    return Course(tuple(walk.stretches), tuple(walk.attempts))


class _Walk:
    """Goes through what happened."""

    def __init__(self, created_at: dt.datetime) -> None:
        self.stretches = [Stretch(Phase.WAITING, created_at)]
        self.attempts: list[JobAttempt] = []
        self._last: Happening | None = None
        self._said: dict[str, Happening] = {}  # by reasons that are no name of a phase

    def take(self, happening: Happening) -> None:
        """One event."""
        phase = _phase(happening.reason)
        if phase is None:
            self._last = self._said[happening.reason] = happening
            return
        self._leave_before(happening)
        present = self.stretches[-1].phase
        if happening.reason in {"Placed", "Admitted"}:
            self._placed(happening)
        elif phase is Phase.RUNNING:
            self._change(started_at=happening.at)
        elif phase not in _THERE and present in _THERE:
            self._left(happening.at, happening.reason, happening.message)
        elif phase is Phase.LEAVING:
            self._change(ended=happening.reason, why=happening.message)
        if phase is not present:
            self._enter(phase, happening.at, happening.message)
        self._last = happening

    def _leave_before(self, happening: Happening) -> None:
        """It waits again for a cause that an earlier event names."""
        if happening.reason != "Requeued" or self.stretches[-1].phase is Phase.LEAVING:
            return
        why = self._said.get(happening.cause)
        if why is not None and why.at >= self.stretches[-1].since:
            self._change(ended=why.reason, why=why.message)
            self._enter(Phase.LEAVING, why.at, why.message)

    def arrive(self, now: Now) -> None:
        """It is as it is: what no event has said follows from that."""
        phase = _BY_STATE.get(now.state)
        if phase is None:
            return
        if phase is Phase.ENDED:
            at = now.ended_at or self.stretches[-1].since
            if self.stretches[-1].phase is not Phase.ENDED:
                self._left(at, now.reason or now.state, now.message)
                self._enter(Phase.ENDED, at, now.message)
            else:  # the message at its end has its own words
                self._change(ended=now.reason or now.state, why=now.message or self._why())
        elif self.stretches[-1].phase is not phase:
            at = max(self.stretches[-1].since, self._last.at if self._last else now.created_at)
            if phase not in _THERE:
                self._left(at, "", "")
            self._enter(phase, at, now.message)

    def _why(self) -> str:
        return self.attempts[-1].why if self.attempts else ""

    def _enter(self, phase: Phase, at: dt.datetime, why: str) -> None:
        self.stretches[-1] = replace(self.stretches[-1], until=at)
        if self.stretches[-1].since == at and len(self.stretches) > 1:
            self.stretches.pop()  # it was in it for no time
        again = bool(self.attempts) and phase not in _THERE and phase is not Phase.ENDED
        self.stretches.append(Stretch(phase, at, again=again, why=why))

    def _placed(self, happening: Happening) -> None:
        started = happening.at if happening.reason == "Admitted" else None
        self.attempts.append(JobAttempt(happening.cluster, happening.at, started))

    def _left(self, at: dt.datetime, reason: str, why: str) -> None:
        """The attempt is over, by the cause of an earlier event if there is one."""
        if not self.attempts or self.attempts[-1].ended_at is not None:
            return
        last = self.attempts[-1]
        self.attempts[-1] = replace(
            last, ended_at=at, ended=last.ended or reason, why=last.why or why
        )

    def _change(
        self,
        started_at: dt.datetime | None = None,
        ended: str = "",
        why: str = "",
    ) -> None:
        if not self.attempts:
            return
        last = self.attempts[-1]
        self.attempts[-1] = replace(
            last,
            started_at=last.started_at or started_at,
            ended=ended or last.ended,
            why=why or last.why,
        )


def _phase(reason: str) -> Phase | None:
    return Phase.LEAVING if reason.startswith(_EVICTED) else _BY_REASON.get(reason)

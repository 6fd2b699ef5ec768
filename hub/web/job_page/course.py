"""The course of a job as a picture: phases as segments of one bar, told below it, and its attempts."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.workloads.course import Course, JobAttempt, Phase, Stretch
from hub.web.words import Instant, instant, lasting, path_of, text, tone

_WIDTH: Final = 1000  # of the picture, in its own units
_LEAST: Final = 6  # of a segment that is shorter
_MOST: Final = 40  # phases that are shown, and attempts
_LABELS: Final[Mapping[Phase, str]] = {
    Phase.WAITING: "waiting",
    Phase.HELD: "held",
    Phase.CHECKED: "admission checks",
    Phase.PLACING: "placing",
    Phase.STARTING: "starting",
    Phase.RUNNING: "running",
    Phase.SILENT: "cluster silent",
    Phase.LEAVING: "taken back",
    Phase.ENDED: "ended",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """One phase: its place in the picture, and its text. `lasted` "" where it lasts."""

    look: str  # its colour: a phase, or how it ended
    ended: bool
    label: str
    x: float
    width: float
    since: Instant | None
    clock: str
    lasted: str
    why: str


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One placement."""

    number: int
    cluster: str
    href: str
    placed: Instant | None
    ran: str
    running: Instant | None  # since when it runs, where it does
    ended: str
    why: str


@dataclass(frozen=True, slots=True)
class CoursePicture:
    """The whole. `told`: the picture in words."""

    segments: tuple[Segment, ...]
    earlier: int  # phases before those shown
    began: str
    total: str
    told: str
    attempts: tuple[AttemptLine, ...]
    earlier_attempts: int
    cut: bool  # history began before what is known


def picture_of(course: Course, now: dt.datetime, state: str, *, cut: bool) -> CoursePicture:
    """The picture at `now`."""
    shown = course.stretches[-_MOST:]
    segments = _segments(shown, now, state)
    ends = shown[-1].since if shown[-1].phase is Phase.ENDED else now
    total = max(0.0, (ends - shown[0].since).total_seconds())
    attempts = course.attempts[-_MOST:]
    first = len(course.attempts) - len(attempts) + 1
    return CoursePicture(
        segments=segments,
        earlier=len(course.stretches) - len(shown),
        began=_clock(shown[0].since),
        total=lasting(total),
        told=", then ".join(_told(each) for each in segments),
        attempts=tuple(_attempt(each, first + at, now) for at, each in enumerate(attempts)),
        earlier_attempts=first - 1,
        cut=cut,
    )


def _segments(shown: Sequence[Stretch], now: dt.datetime, state: str) -> tuple[Segment, ...]:
    lengths = [_length(each, now) for each in shown]
    days = [each.since.astimezone(dt.UTC).date() for each in shown]
    drawn = [_LEAST if each.phase is not Phase.ENDED else 0 for each in shown]
    total = sum(lengths) or 1.0
    room = max(0, _WIDTH - sum(drawn))
    found: list[Segment] = []
    x = 0.0
    for at, (each, length, least) in enumerate(zip(shown, lengths, drawn, strict=True)):
        width = least + room * length / total if least else 0.0
        ended = each.phase is Phase.ENDED
        label = state if ended else _LABELS[each.phase] + (" again" if each.again else "")
        found.append(
            Segment(
                look=tone(state) if ended else each.phase.value,
                ended=ended,
                label=text(label),
                x=round(x, 1),
                width=round(width, 1),
                since=instant(each.since, now),
                clock=_clock(each.since, day=at == 0 or days[at] != days[at - 1]),
                lasted="" if each.until is None else lasting(length),
                why=text(each.why),
            )
        )
        x += width
    return tuple(found)


def _length(each: Stretch, now: dt.datetime) -> float:
    if each.phase is Phase.ENDED:
        return 0.0
    return max(0.0, ((each.until or now) - each.since).total_seconds())


def _told(each: Segment) -> str:
    if each.ended:
        return f"{each.label} at {each.clock}"
    lasted = each.lasted or (f"{each.since.age} so far" if each.since else "")
    return f"{each.label} {lasted}"


def _attempt(attempt: JobAttempt, number: int, now: dt.datetime) -> AttemptLine:
    started, ended = attempt.started_at, attempt.ended_at
    ran = lasting((ended - started).total_seconds()) if started and ended else ""
    if ended and not started:
        ran = "did not start"
    return AttemptLine(
        number=number,
        cluster=text(attempt.cluster),
        href=path_of("clusters", attempt.cluster) if attempt.cluster else "",
        placed=instant(attempt.placed_at, now),
        ran=ran,
        running=instant(started, now) if started and not ended else None,
        ended=text(attempt.ended.removeprefix("EvictedDueTo")) if ended else "",
        why=text(attempt.why) if ended else "",
    )


def _clock(at: dt.datetime, *, day: bool = True) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC" if day else "%H:%M:%S UTC")

"""Events of a job, newest first, and the last lines of its failed pods."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hub.store.records.history import StoredEvent
from hub.web.words import Instant, instant, text

_MOST: Final = 60
_POD_FAILED: Final = "PodFailed"
_MOST_PODS: Final = 10
_MOST_LINES: Final = 40  # of one pod
_LONGEST: Final = 2000  # characters of one line


@dataclass(frozen=True, slots=True)
class HappenedLine:
    """One event."""

    id: str
    at: Instant | None
    reason: str
    bad: bool
    message: str


@dataclass(frozen=True, slots=True)
class FailedPod:
    """A pod that failed: which, how, and its last lines."""

    id: str
    said: str
    lines: tuple[str, ...]
    at: Instant | None


@dataclass(frozen=True, slots=True)
class Happened:
    """The newest events; `more` before them."""

    lines: tuple[HappenedLine, ...]
    more: int
    cut: bool
    failed: tuple[FailedPod, ...]


def happened_of(
    told: Sequence[StoredEvent], submitted: StoredEvent | None, now: dt.datetime
) -> Happened:
    """`told`: oldest first; `submitted`: the first of all, where none before `told` is left out."""
    events = [*([submitted] if submitted else ()), *told]
    newest = list(reversed(events))
    failed = [each for each in newest if each.reason == _POD_FAILED]
    return Happened(
        lines=tuple(_line(each, now) for each in newest[:_MOST]),
        more=max(0, len(newest) - _MOST),
        cut=submitted is None,
        failed=tuple(_failed(each, now) for each in failed[:_MOST_PODS]),
    )


def _line(each: StoredEvent, now: dt.datetime) -> HappenedLine:
    return HappenedLine(
        id=text(each.id),
        at=instant(each.at, now),
        reason=text(each.reason),
        bad=each.type == "Warning",
        message=text(each.message.partition("\n")[0]),  # the others are of a log
    )


def _failed(each: StoredEvent, now: dt.datetime) -> FailedPod:
    said, *lines = each.message.split("\n")
    return FailedPod(
        id=text(each.id),
        said=text(said),
        lines=tuple(visible(line)[:_LONGEST] for line in lines[-_MOST_LINES:]),
        at=instant(each.at, now),
    )


def visible(line: str) -> str:
    """A line with every control and formatting character written out, as the command line does."""
    return line if line.isprintable() else "".join(_shown(each) for each in line)


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable() or character == "\t":
        return character
    if code < 32 or code == 127:
        return f"^{chr(code ^ 64)}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

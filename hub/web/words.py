"""Formats numbers, times and states for people. Pure; every template value passes through here."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

# state → how it looks; the text always says the state too
_TONES: Final = {
    "Succeeded": "good",
    "Ready": "good",
    "Active": "good",
    "Running": "work",
    "Applied": "work",
    "Offered": "work",
    "Placed": "work",
    "Withdrawing": "wait",
    "Failed": "bad",
    "Unknown": "bad",
    "Deactivated": "bad",
    "Suspect": "bad",
    "Unhealthy": "bad",
    "Cancelled": "calm",
    "Declared": "calm",
    "Fenced": "bad",
}
_LONGEST: Final = 600  # of a text that is shown; the API has the whole of it


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment: `iso` for the browser, which keeps `age` current."""

    iso: str
    age: str


def tone(state: str) -> str:
    """The class of a state's colour and sign."""
    return _TONES.get(state, "wait")


def text(value: object) -> str:
    """Anything as a line of bounded length; "" for None."""
    line = "" if value is None else " ".join(str(value).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def instant(at: dt.datetime | str | None, now: dt.datetime) -> Instant | None:
    """A moment as the page shows it, or None."""
    if not at:
        return None
    found = moment(at) if isinstance(at, str) else at
    return Instant(found.astimezone(dt.UTC).isoformat().replace("+00:00", "Z"), age(found, now))


def moment(at: str) -> dt.datetime:
    """An instant of the API's."""
    return dt.datetime.fromisoformat(at)


def age(then: dt.datetime, now: dt.datetime) -> str:
    """The age, in the largest unit that it fills: 42s, 5m, 3h, 2d. page.js has the same rule."""
    left = max(0, int((now - then).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if left >= size:
            return f"{left // size}{unit}"
    return f"{left}s"


def percent(part: float, whole: float) -> int:
    """The share of the whole, 0 to 100; a positive share is never shown as nothing."""
    if whole <= 0 or part <= 0:
        return 0
    return min(100, max(1, round(100 * part / whole)))


def labels(given: Mapping[str, str]) -> str:
    """Labels as people write them."""
    return text(", ".join(f"{key}={value}" for key, value in sorted(given.items())))


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 job, 2 jobs."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def lasting(seconds: float) -> str:
    """A duration, in two units at most: 0.4 s, 42 s, 5 min 12 s, 3 h 5 min, 2 d 4 h."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s".replace(".0 s", " s")
    left = round(seconds)
    units = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
    for size, unit, next_size, next_unit in units:
        if left >= size:
            rest = left % size // next_size
            return f"{left // size} {unit}" + (f" {rest} {next_unit}" if rest else "")
    return f"{left} s"


def path_of(*parts: str) -> str:
    """The address of a page; whatever stands in a name stays part of that name."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)

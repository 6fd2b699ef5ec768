"""How numbers, times and states look to a person. Pure; every template value passes through here."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
    moment = dt.datetime.fromisoformat(at) if isinstance(at, str) else at
    return Instant(moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z"), age(moment, now))


def age(then: dt.datetime, now: dt.datetime) -> str:
    """How long ago, in the largest unit that it fills: 42s, 5m, 3h, 2d. page.js has the same rule."""
    left = max(0, int((now - then).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if left >= size:
            return f"{left // size}{unit}"
    return f"{left}s"


def percent(part: float, whole: float) -> int:
    """How much of the whole, 0 to 100; something is never shown as nothing."""
    if whole <= 0 or part <= 0:
        return 0
    return min(100, max(1, round(100 * part / whole)))


def labels(given: Mapping[str, str]) -> str:
    """Labels as people write them."""
    return text(", ".join(f"{key}={value}" for key, value in sorted(given.items())))


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 job, 2 jobs."""
    return f"{number} {one if number == 1 else many or one + 's'}"

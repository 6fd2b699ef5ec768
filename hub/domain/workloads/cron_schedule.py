"""The schedule of a CronJob: which times an expression names in a time zone. Pure: instants are arguments.

The expressions are those that Kubernetes reads (five fields, or a word like `@daily`); `cronsim` finds the
times. Around changes of clocks it follows Debian's cron: a fixed time that a change skips comes right after
it, and one that a change repeats comes once.
"""

import datetime as dt
import re
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cronsim import CronSim, CronSimError

LONGEST: Final = 128  # characters of an expression
LONGEST_ZONE: Final = 64
_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ALLOWED: Final = (
    *(3 * (re.compile(r"[0-9*/,\-]+"),)),
    *(2 * (re.compile(r"[0-9A-Za-z*/,\-]+"),)),
)
_NAMES: Final = ("minute", "hour", "day of month", "month", "day of week")
_LAST: Final = (59, 23, 31, 12, 6)
_FIRST: Final = (0, 0, 1, 1, 0)
_MOST_SET_BACK: Final = dt.timedelta(hours=3)
_EPOCH: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


class BadSchedule(ValueError):
    """The expression or the time zone cannot be read; the text says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """`expression`: as `cronsim` reads it. All instants are aware, and given back in UTC."""

    expression: str
    zone: dt.tzinfo

    def after(self, instant: dt.datetime) -> Iterator[dt.datetime]:
        """The scheduled times later than `instant`, in order; none within 50 years is the end."""
        last = instant.astimezone(dt.UTC)
        for found in CronSim(self.expression, instant.astimezone(self.zone)):
            at = found.astimezone(dt.UTC)
            if at > last:  # an hour that clocks repeat is read from its first pass
                yield at
                last = at

    def newest(self, instant: dt.datetime) -> dt.datetime | None:
        """The last scheduled time that is not later than `instant`."""
        # By the clock on the wall, which a change may have set back just now.
        begin = (instant + _MOST_SET_BACK).astimezone(self.zone)
        for found in CronSim(self.expression, begin, reverse=True):
            at = found.astimezone(dt.UTC)
            if at <= instant:
                return at
        return None


def read_schedule(expression: str, zone: str | None) -> CronSchedule:
    """Raises BadSchedule, also for an expression that names no time at all."""
    fields = _fields(expression)
    schedule = CronSchedule(" ".join(fields), read_zone(zone))
    try:
        comes = next(CronSchedule(schedule.expression, dt.UTC).after(_EPOCH), None)
    except CronSimError as fault:
        raise BadSchedule(f"{str(fault)[:1].lower()}{str(fault)[1:]}") from None
    if comes is None:
        raise BadSchedule("names no day that any year has")
    return schedule


def read_zone(name: str | None) -> dt.tzinfo:
    """A time zone of the IANA database; UTC without a name. Raises BadSchedule."""
    if name is None:
        return dt.UTC
    if name.lower() == "local" or not name or len(name) > LONGEST_ZONE:
        raise BadSchedule("must be a name of the IANA database, such as Europe/Berlin or Etc/UTC")
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        text = "is no time zone of the IANA database; write one such as Europe/Berlin or Etc/UTC"
        raise BadSchedule(text) from None


def _fields(expression: str) -> list[str]:
    """Its five fields, as `cronsim` reads what Kubernetes means by them."""
    text = expression.strip()
    if len(text) > LONGEST:
        raise BadSchedule(f"has more than {LONGEST} characters")
    if text.upper().startswith(("TZ=", "CRON_TZ=")):
        raise BadSchedule("names a time zone: write it into spec.timeZone")
    if text.startswith("@every"):
        raise BadSchedule("counts from no fixed time: write five fields, such as */30 * * * *")
    fields = _WORDS.get(text, text).split()
    if len(fields) != len(_NAMES):
        words = ", ".join(sorted(_WORDS))
        raise BadSchedule(f"must have five fields ({', '.join(_NAMES)}), or be one of {words}")
    return [_field(place, each.replace("?", "*")) for place, each in enumerate(fields)]


def _field(place: int, text: str) -> str:
    if not _ALLOWED[place].fullmatch(text):
        raise BadSchedule(f"bad {_NAMES[place]}: {text[:20]}")
    return ",".join(_term(place, each) for each in text.split(","))


def _term(place: int, text: str) -> str:
    """One term. Kubernetes reads `N/S` as `N-last/S`; and a day field that begins with `*/S` restricts days,
    as any list of days does.
    """
    span, slash, step = text.partition("/")
    days = _NAMES[place].startswith("day")
    if days and place == len(_NAMES) - 1 and "7" in span:
        raise BadSchedule("bad day of week: Sunday is 0 or SUN, as Kubernetes has it")
    if days and "L" in span.upper():
        raise BadSchedule(
            f"bad {_NAMES[place]}: {text[:20]}: Kubernetes has no L for the last one"
        )
    if not slash:
        return text
    if not step.isdigit() or int(step) == 0:
        raise BadSchedule(f"bad {_NAMES[place]}: the step of {text[:20]} must be at least 1")
    if span == "*":
        narrowed = f"{_FIRST[place]}-{_LAST[place]}/{step}"
        return narrowed if days and int(step) > 1 else text
    return text if "-" in span else f"{span}-{_LAST[place]}/{step}"

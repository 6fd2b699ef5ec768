"""Instants as the engine counts them: whole microseconds since 1970, so that order and spans are exact."""

import datetime as dt
from typing import Final

EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


def to_micros(at: dt.datetime) -> int:
    """Microseconds since 1970; `at` carries its zone."""
    return (at - EPOCH) // _MICROSECOND


def from_micros(microseconds: int) -> dt.datetime:
    """The instant, in UTC."""
    return EPOCH + microseconds * _MICROSECOND


def read_instant(said: str | None) -> dt.datetime | None:
    """The instant that a member reports in RFC 3339, in UTC; None if it can not be read or has no zone."""
    try:
        at = dt.datetime.fromisoformat(said or "")
        return at.astimezone(dt.UTC) if at.tzinfo is not None else None
    except (ValueError, OverflowError):  # it is none, or not of the years that are counted
        return None


def told_instant(said: str | None, now: dt.datetime) -> dt.datetime | None:
    """The instant that a member reports, at most `now`, for its clock may be ahead; else None."""
    at = read_instant(said)
    return None if at is None else min(at, now)


def stamp(instant: dt.datetime | None) -> str | None:
    """RFC 3339 in UTC with microseconds and Z, or None."""
    if instant is None:
        return None
    return instant.isoformat().replace("+00:00", "Z")

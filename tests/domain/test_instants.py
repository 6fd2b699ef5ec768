"""Instants in whole microseconds."""

import datetime as dt

from hypothesis import given, strategies as st

from hub.domain.instants import from_micros, stamp, to_micros


@given(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)))  # noqa: DTZ001 - zone below
def test_an_instant_comes_back_from_its_microseconds(naive: dt.datetime) -> None:
    """To microseconds and back nothing is lost, before 1970 too."""
    at = naive.replace(tzinfo=dt.UTC)
    assert from_micros(to_micros(at)) == at


def test_microseconds_count_from_1970() -> None:
    """One second after the epoch is a million; another zone is the same instant."""
    at = dt.datetime(1970, 1, 1, 1, 0, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    assert to_micros(at) == 1_000_000


def test_stamps_are_utc_with_z() -> None:
    """RFC 3339 with microseconds where there are any; of nothing nothing."""
    assert stamp(dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC)) == "2026-01-02T03:04:05.000006Z"
    assert stamp(None) is None

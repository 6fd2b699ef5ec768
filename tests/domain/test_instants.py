"""Instants in whole microseconds."""

import datetime as dt

import pytest
from hypothesis import given, strategies as st

from hub.domain.instants import from_micros, read_instant, stamp, to_micros, told_instant


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


@pytest.mark.parametrize(
    "said", [None, "", "yesterday", "2026-01-02T03:04:05", "0001-01-01T00:00:00+14:00"]
)
def test_an_instant_that_can_not_be_read_is_none(said: str | None) -> None:
    """No text, no instant, no zone, or a year that is not counted."""
    assert read_instant(said) is None
    assert told_instant(said, dt.datetime(2026, 1, 2, tzinfo=dt.UTC)) is None


def test_an_instant_of_a_clock_that_is_ahead_is_now_at_most() -> None:
    """What is read is in UTC."""
    at = dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)
    assert read_instant("2026-01-02T04:00:00+01:00") == at
    assert told_instant("2026-01-02T04:00:00+01:00", at - dt.timedelta(hours=1)) < at

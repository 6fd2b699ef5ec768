"""Schedules of CronJobs: which times an expression names in a time zone."""

import datetime as dt
from itertools import islice, takewhile

import pytest
from hypothesis import given, strategies as some

from hub.domain.workloads.cron_schedule import BadSchedule, read_schedule

BERLIN = "Europe/Berlin"


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"{text}+00:00")


def times(expression: str, zone: str | None, after: str, count: int = 3) -> list[str]:
    found = islice(read_schedule(expression, zone).after(utc(after)), count)
    return [at.strftime("%m-%dT%H:%M") for at in found]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "comes"),
    [
        ("0 2 * * *", None, "2026-03-01T02:00", ["03-02T02:00", "03-03T02:00", "03-04T02:00"]),
        ("0 2 * * *", BERLIN, "2026-01-01T02:00", ["01-02T01:00", "01-03T01:00", "01-04T01:00"]),
        ("*/30 * * * *", None, "2026-03-01T11:59", ["03-01T12:00", "03-01T12:30", "03-01T13:00"]),
        ("50/5 1 * * *", None, "2026-03-01T00:00", ["03-01T01:50", "03-01T01:55", "03-02T01:50"]),
        ("@monthly", None, "2026-03-01T00:00", ["04-01T00:00", "05-01T00:00", "06-01T00:00"]),
        (
            "0 0 ? * MON-WED",
            None,
            "2026-03-01T00:00",
            ["03-02T00:00", "03-03T00:00", "03-04T00:00"],
        ),
        # As Kubernetes reads it, and Debian's cron does not: either of two restricted days.
        (
            "0 0 */10 * SUN",
            None,
            "2026-03-01T00:00",
            ["03-08T00:00", "03-11T00:00", "03-15T00:00"],
        ),
    ],
)
def test_an_expression_means_what_kubernetes_means_by_it(expression, zone, after, comes):
    """Five fields and the words; steps and days of the week by Kubernetes' reading."""
    assert times(expression, zone, after) == comes


def test_a_fixed_time_that_a_change_of_clocks_skips_comes_right_after_it():
    """02:30 does not exist in Berlin on 29 March 2026: it is 03:00 there, 01:00 UTC."""
    assert times("30 2 * * *", BERLIN, "2026-03-28T12:00", 2) == ["03-29T01:00", "03-30T00:30"]


def test_a_fixed_time_that_a_change_of_clocks_repeats_comes_once():
    """02:30 comes twice in Berlin on 25 October 2026: its first pass counts, and not the second one."""
    assert times("30 2 * * *", BERLIN, "2026-10-24T12:00", 2) == ["10-25T00:30", "10-26T01:30"]
    assert times("30 2 * * *", BERLIN, "2026-10-25T01:15", 1) == ["10-26T01:30"]


def test_every_half_hour_comes_in_both_passes_of_a_repeated_hour():
    """These are four times, each with its own minute since 1970."""
    found = times("*/30 2 * * *", BERLIN, "2026-10-24T23:59", 4)
    assert found == ["10-25T00:00", "10-25T00:30", "10-25T01:00", "10-25T01:30"]


@pytest.mark.parametrize(
    ("expression", "zone", "why"),
    [
        ("0 0 30 2 *", None, "day-of-month"),
        ("0 0 * *", None, "five fields"),
        ("0 0 L * *", None, "bad day of month"),
        ("0 0 * * 1#2", None, "bad day of week"),
        ("0 0 * * 7", None, "Sunday is 0"),
        ("*/0 * * * *", None, "at least 1"),
        ("@every 1h", None, "five fields"),
        ("TZ=UTC 0 0 * * *", None, "spec.timeZone"),
        ("0 0 * * *", "Mars/Base", "IANA"),
        ("0 0 * * *", "Local", "IANA"),
        ("0 0 * * *", "../../etc/passwd", "IANA"),
        ("1" * 200, None, "128"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(expression, zone, why):
    """Also what no day of any year is, and what other crons read."""
    with pytest.raises(BadSchedule, match=why):
        read_schedule(expression, zone)


EXPRESSIONS = some.sampled_from(
    [
        "*/7 * * * *",
        "0 2 * * *",
        "30 2 * * *",
        "0 */5 * * *",
        "15 1-3 * * *",
        "0 0 1 * *",
        "5 4 * * SUN",
    ]
)
INSTANTS = some.integers(0, 365 * 24 * 3600).map(
    lambda seconds: utc("2026-01-01T00:00") + dt.timedelta(seconds=seconds)
)


@given(
    EXPRESSIONS,
    some.sampled_from([None, BERLIN, "America/New_York", "Australia/Lord_Howe"]),
    INSTANTS,
)
def test_the_newest_time_is_the_last_one_that_an_earlier_look_finds(expression, zone, instant):
    """A hub that looks every second and one that returns after a month find the same times."""
    schedule = read_schedule(expression, zone)
    begin = instant - dt.timedelta(days=35)
    found = list(takewhile(lambda at: at <= instant, schedule.after(begin)))
    assert found == sorted(set(found))
    assert schedule.newest(instant) == found[-1]


@pytest.mark.parametrize("expression", ["0 0 * * 5L", "0 0 * * friL", "0 0 * * 1,5l"])
def test_the_last_day_of_its_name_is_refused(expression):
    """Kubernetes reads no L."""
    with pytest.raises(BadSchedule, match="day of week"):
        read_schedule(expression, None)

"""Creation times of jobs of the hub cluster that came within one second: in order, and within the second."""

import datetime as dt

from hub.bridge import arrivals
from hub.bridge.arrivals import Arrivals

SECOND = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


def test_jobs_of_one_second_stay_within_it():
    """Even more than a second has microseconds: no job passes one of the next second."""
    came = Arrivals()
    instants = [came.instant(SECOND) for _ in range(3)]
    assert [each.microsecond for each in instants] == [0, 1, 2]
    came._came[SECOND] = 2_000_000
    assert came.instant(SECOND) < SECOND + dt.timedelta(seconds=1)


def test_only_the_latest_seconds_are_remembered():
    """The memory that this takes is bounded, and the second that jobs come of is kept."""
    came = Arrivals()
    for number in range(arrivals._SECONDS):
        came.instant(SECOND + dt.timedelta(seconds=number))
        came.instant(SECOND)
    came.instant(SECOND - dt.timedelta(seconds=1))
    assert len(came._came) == arrivals._SECONDS
    assert came.instant(SECOND).microsecond == arrivals._SECONDS + 1

"""What hub and agents take for the time: spans are real ones, whatever is done to a machine's clock."""

import datetime as dt
import sys
import time

import pytest
from hypothesis import given, strategies as st

from shared.clock import ManualClock, SteadyClock, SystemClock
from tests.shared.clocks import SetClock

HOUR_S = 3600.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="another system, another clock")
def test_time_in_which_the_machine_slept_counts():
    """A lease that ended during a suspension has ended for whoever wakes up too."""
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    told = SystemClock().monotonic()
    assert began <= told <= time.clock_gettime(time.CLOCK_BOOTTIME)


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_a_step_of_the_wall_clock_is_no_span(step_s):
    """A minute over a step of an hour is a minute, but for the share by which it is followed."""
    base = SetClock()
    clock = SteadyClock(base)
    began = clock.now()
    base.set_forward(step_s)
    assert clock.now() == began
    base.advance(60)
    assert abs((clock.now() - began).total_seconds() - 60) <= 60 * SteadyClock.SLEW


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_the_wall_clock_is_followed_in_the_end(step_s):
    """After as long as slewing takes both say the same."""
    base = SetClock()
    clock = SteadyClock(base)
    base.set_forward(step_s)
    for _ in range(21):
        base.advance(HOUR_S)
        clock.now()
    assert clock.now() == base.now()


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(-HOUR_S, HOUR_S))))
def test_time_never_goes_back(moves):
    """However often the wall clock is set, and whichever way."""
    base = SetClock()
    clock = SteadyClock(base)
    told = [clock.now()]
    for passed, step in moves:
        base.advance(passed)
        base.set_forward(step)
        told.append(clock.now())
    assert told == sorted(told)


def test_without_steps_it_is_the_wall_clock():
    """To the microsecond."""
    base = ManualClock(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    clock = SteadyClock(base)
    for seconds in (0.001, 1, 86_400):
        base.advance(seconds)
        assert clock.now() == base.now()

"""Epochs grow; they count attempts, and leap where a store went back."""

import datetime as dt

from hypothesis import given, strategies as st

from hub.domain.workloads.states import attempt, beyond

BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
seconds = st.integers(10**6, 10**9)
placed = st.integers(0, 20_000)


def at(second: int) -> dt.datetime:
    return BEGIN + dt.timedelta(seconds=second)


@given(placed, seconds)
def test_an_epoch_counts_attempts_however_often_it_leaps(epoch, second):
    """So that a job is retried as often as was asked for."""
    assert attempt(beyond(epoch, at(second))) == epoch
    assert attempt(beyond(epoch, at(second)) + 1) == epoch + 1


@given(placed, seconds, placed, st.integers(1, 10**6), placed)
def test_it_leaves_behind_whatever_was_given_in_the_time_that_is_lost(
    kept, first, more, later, older
):
    """Also where that time holds an acceptance of its own."""
    lost = beyond(kept, at(first)) + min(more, later * 5)
    assert beyond(older, at(first + later)) > lost


@given(placed, seconds)
def test_it_grows_where_the_clock_went_back(epoch, second):
    """Epochs only grow."""
    once = beyond(epoch, at(second))
    assert beyond(once, at(second - 100)) > once

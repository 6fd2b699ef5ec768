"""The create window: an overloaded member gets less work."""

import pytest

from hub.domain.fleet.create_window import (
    LEAST,
    CreateAnswers,
    CreateWindows,
    adjust,
    read_answers,
)


def good(answered: int = 0, period: int = 1) -> CreateAnswers:
    return CreateAnswers(period, answered, 0)


def bad(period: int = 1) -> CreateAnswers:
    return CreateAnswers(period, 5, 1)


@pytest.mark.parametrize(
    ("window", "unapplied", "after"),
    [
        (None, 100, 50),
        (40, 100, 20),
        (40, 10, 5),
        (40, 1, LEAST),
        (None, 0, LEAST),
        (LEAST, 90, LEAST),
    ],
)
def test_overload_halves_the_window(window, unapplied, after):
    """From what is on its way at first, and never below the least."""
    assert adjust(window, bad(), unapplied) == after


@pytest.mark.parametrize(("window", "answered", "after"), [(10, 3, 13), (10, 50, 20), (10, 0, 10)])
def test_answered_creates_open_the_window(window, answered, after):
    """By one each, and at most twice as far in one period."""
    assert adjust(window, good(answered), 0) == after


@pytest.mark.parametrize(("answered", "after"), [(0, LEAST), (3, LEAST), (7, 7)])
def test_a_window_that_is_not_known_begins_at_what_the_member_answers(answered, after):
    """A new leader meets a member that recovers: no more than it answers goes there, and never all."""
    assert adjust(None, good(answered), 0) == after


def test_a_report_that_was_taken_in_changes_nothing():
    """A member's row is read again for other reasons: one period halves once."""
    windows = CreateWindows()
    windows.report("m", bad(), 100)
    windows.report("m", bad(), 100)
    assert windows.of("m") == 50


def test_a_member_that_reports_nothing_has_no_window():
    """A minute without overload ends it."""
    windows = CreateWindows()
    windows.report("m", bad(), 100)
    windows.report("m", None, 100)
    assert windows.of("m") is None
    assert windows.of("other") is None


@pytest.mark.parametrize("told", [None, {}])
def test_an_agent_that_reports_nothing_is_not_overloaded(told):
    """As agents of earlier releases, which know no such report."""
    assert read_answers(told) is None


def test_a_report_is_read_as_it_is_stored():
    """By its names on the wire."""
    told = {"period": 3, "answered": 2, "overloaded": 1}
    assert read_answers(told) == CreateAnswers(3, 2, 1)


def test_a_member_that_is_gone_leaves_no_window():
    """One of its name that joins later begins without a limit."""
    windows = CreateWindows()
    windows.report("m", bad(), 100)
    windows.drop("m")
    windows.drop("m")
    assert windows.of("m") is None

"""The compressed text of completion indexes."""

import pytest
from hypothesis import given, strategies as st

from shared.kubesim.jobs.indexes import first_missing, parse, render


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        (set(), ""),
        ({4}, "4"),
        ({1, 2}, "1,2"),
        ({1, 2, 3}, "1-3"),
        ({0, 2, 3, 4, 7, 8}, "0,2-4,7,8"),
    ],
)
def test_neighbours_are_written_as_intervals(indexes, text):
    """Three or more neighbours become an interval."""
    assert render(indexes) == text


@given(st.sets(st.integers(0, 200)))
def test_what_is_written_can_be_read(indexes):
    """Reading what was written gives the same indexes."""
    assert parse(render(indexes), 201) == indexes


@pytest.mark.parametrize("text", ["x", "1-y", "-", "1,,2", "9"])
def test_what_makes_no_sense_is_passed_over(text):
    """Parts that are no interval, and indexes out of range, are ignored."""
    assert parse(text, 9) <= {1, 2}


@given(st.sets(st.integers(0, 20)), st.integers(0, 10), st.integers(0, 20))
def test_the_lowest_missing_indexes_come_first(taken, count, completions):
    """As many as asked for, the lowest that are neither taken nor out of range."""
    free = [index for index in range(completions) if index not in taken]
    assert first_missing(taken, count, completions) == free[:count]

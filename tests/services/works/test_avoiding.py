"""Clusters that a job avoids for a while."""

import datetime as dt

import pytest

from hub.services.works.avoiding import SET_ASIDE, set_aside
from tests.store.build import START

SECOND = dt.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("present", "kept"),
    [
        (None, {}),
        ({"south": START + SECOND}, {"south": START + SECOND}),
        ({"south": START}, {}),
        ({"south": START - SECOND, "west": START + SECOND}, {"west": START + SECOND}),
        ({"north": START + SECOND}, {}),
    ],
)
def test_one_is_added_and_past_ones_are_dropped(
    present: dict[str, dt.datetime] | None, kept: dict[str, dt.datetime]
):
    """So that the row does not grow with every cluster that a job has been in."""
    before = None if present is None else {n: at.isoformat() for n, at in present.items()}
    assert set_aside(before, "north", START, SET_ASIDE) == {
        **{name: at.isoformat() for name, at in kept.items()},
        "north": "2026-03-01T12:05:00+00:00",
    }

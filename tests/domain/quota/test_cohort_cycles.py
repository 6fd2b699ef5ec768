"""Cohorts whose parents lead back to themselves."""

import pytest

from hub.domain.quota.tree import find_cycle

PARENTS = {"leaf": "a", "a": "b", "b": "a", "self": "self", "child": "root"}


@pytest.mark.parametrize(
    ("start", "cycle"),
    [
        ("a", ("a", "b", "a")),
        ("b", ("b", "a", "b")),
        ("leaf", ("a", "b", "a")),  # it leads into the cycle without being part of it
        ("self", ("self", "self")),
        ("child", ()),
        ("root", ()),  # an implicit one has no parent
    ],
)
def test_the_way_up_leads_into_a_cycle_or_to_a_root(start: str, cycle: tuple[str, ...]) -> None:
    """The path ends where it starts, and holds only cohorts of the cycle."""
    assert find_cycle(start, PARENTS) == cycle

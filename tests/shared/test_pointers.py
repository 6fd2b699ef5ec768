"""JSON pointers lead to the place that their text says."""

import pytest

from shared.pointers import path_of, value_at, with_value

LIST = {"a": [{"b": 1}, {"b": 2}]}


@pytest.mark.parametrize("step", ["01", "00", "\u0661", "\uff11", "+1", "-", "", "9" * 5000])
def test_a_position_of_a_list_has_one_text(step):
    """Another spelling of it leads nowhere, and nothing is written there."""
    pointer = f"/a/{step}/b"
    assert value_at(LIST, pointer) is None
    assert with_value(LIST, pointer, 3) == LIST
    assert "[" not in path_of(pointer) or step == "9" * 5000


def test_a_position_leads_to_its_item():
    """As RFC 6901 writes it."""
    assert value_at(LIST, "/a/1/b") == 2
    assert with_value(LIST, "/a/0/b", 3) == {"a": [{"b": 3}, {"b": 2}]}
    assert path_of("/a/1/b") == "a[1].b"

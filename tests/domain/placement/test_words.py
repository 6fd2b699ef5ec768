"""Values that differ, as the status of a placement shows them."""

import pytest

from hub.domain.placement.words import bare


@pytest.mark.parametrize(
    ("reported", "shown"),
    [
        ('"red"', "red"),
        ('"a \\"b\\""', 'a "b"'),
        ("3", "3"),
        ('{"a": "b"}', '{"a": "b"}'),
        ('"cut in the mid', '"cut in the mid'),
        (None, None),
    ],
)
def test_a_string_is_shown_without_its_quotes(reported: str | None, shown: str | None) -> None:
    """As KubeFleet shows it; anything else, and what was cut, as the agent reported it."""
    assert bare(reported) == shown

"""PriorityClass of pods: the hub carries it, and reads its value."""

from typing import Any

import pytest

from shared.errors import Rejected
from shared.kinds.registry import parse

HIGH: dict[str, Any] = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 500,
}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("abc", "InvalidType"),
        ("500", "InvalidType"),
        ([1], "InvalidType"),
        ({}, "InvalidType"),
        (True, "InvalidType"),
        (1.5, "InvalidType"),
        (2**31, "OutOfRange"),
        (-(2**31) - 1, "OutOfRange"),
    ],
)
def test_a_value_that_is_no_number_of_kubernetes_is_refused(value, code):
    """The refusal names the field and what to send."""
    with pytest.raises(Rejected) as refusal:
        parse({**HIGH, "value": value})
    assert (refusal.value.code, refusal.value.field) == (code, "value")
    assert "integer from -2147483648 to 2147483647" in refusal.value.detail


@pytest.mark.parametrize("value", [0, 500, -5, 2**31 - 1, None])
def test_a_value_that_kubernetes_takes_is_taken(value):
    """Without one it counts as 0, as at an API server."""
    assert parse({**HIGH, "value": value}).name == "high"

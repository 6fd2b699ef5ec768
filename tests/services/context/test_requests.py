"""What a job asks for, as lists and pages say it."""

import pytest

from hub.services.context.rendering import requests_of


def test_what_all_pods_ask_for_is_added_up() -> None:
    """Of all pod sets, times their pods, as canonical texts; what is nothing is left out."""
    pod_sets = [
        {"name": "head", "count": 1, "requests": {"cpu": 500, "memory": 1 << 30}},
        {"name": "workers", "count": 3, "requests": {"cpu": 2000, "nvidia.com/gpu": 1, "pods": 0}},
    ]
    assert requests_of(pod_sets) == {"cpu": "6500m", "memory": "1Gi", "nvidia.com/gpu": "3"}


@pytest.mark.parametrize("stored", [None, [], [{"count": 1}], "text", [None]])
def test_what_can_not_be_read_is_empty(stored: object) -> None:
    """One row that cannot be used takes no list."""
    assert requests_of(stored) == {}

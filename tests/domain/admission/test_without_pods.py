"""Pod sets of no pods prefer a flavor with room for one."""

from collections import Counter

import pytest

from hub.domain.admission.without_pods import has_room_for_one
from shared.resources import PodSet, Resources


def pod_set(count: int) -> PodSet:
    """Pods of one core."""
    return PodSet("main", count, Resources({"cpu": 1000}))


@pytest.mark.parametrize(
    ("count", "room", "taken", "fits"),
    [
        (3, {"cpu": 0}, {}, True),
        (0, {"cpu": 1000}, {}, True),
        (0, {"cpu": 999}, {}, False),
        (0, {"cpu": 1000}, {"cpu": 1}, False),
        (0, {"pods": 1}, {}, True),
        (0, {"pods": 1}, {"pods": 1}, False),
        (0, {"memory": 0}, {}, True),
    ],
)
def test_a_flavor_has_room_for_one_pod_of_each(count, room, taken, fits):
    """Pods that there are count by themselves."""
    assert has_room_for_one([pod_set(count)], room, Counter(taken)) is fits

"""Pods that are not needed any more give back their quota, once and for good."""

from typing import Any

import pytest

from hub.domain.workloads.reclaimable_pods import reclaimed
from shared.errors import Rejected


def admission() -> dict[str, Any]:
    """Two pod sets: one driver of 1 cpu, and three workers that have 10 together."""
    return {
        "cluster": "north",
        "podSets": [
            {"name": "driver", "count": 1, "usage": {"cpu": 1000}},
            {"name": "workers", "count": 3, "usage": {"cpu": 10_000}},
        ],
    }


def usage(left: dict[str, Any]) -> dict[str, int]:
    return {each["name"]: each["usage"]["cpu"] for each in left["podSets"]}


def test_what_is_left_is_charged_and_rounded_up() -> None:
    """Two of three pods stay: two thirds of what was charged, no less; nothing else changes."""
    left = reclaimed(admission(), {"workers": 1})
    assert usage(left) == {"driver": 1000, "workers": 6667}
    assert left["podSets"][0] == admission()["podSets"][0]
    assert left["cluster"] == "north"


def test_each_time_is_counted_from_the_whole() -> None:
    """One pod and then two are two of three, not two of what was left; all are all."""
    once = reclaimed(admission(), {"workers": 1})
    twice = reclaimed(once, {"workers": 2})
    assert usage(twice) == {"driver": 1000, "workers": 3334}
    assert usage(reclaimed(twice, {"workers": 3, "driver": 1})) == {"driver": 0, "workers": 0}


def test_a_pod_set_that_is_not_named_keeps_what_it_gave_back() -> None:
    """A later word about another pod set takes nothing again."""
    left = reclaimed(reclaimed(admission(), {"workers": 1}), {"driver": 1})
    assert usage(left) == {"driver": 0, "workers": 6667}
    assert usage(reclaimed(left, {"workers": 1})) == usage(left)


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"nobody": 1}, "UnknownPodSet"),
        ({"workers": 4}, "OutOfRange"),
        ({"workers": 0}, "Immutable"),
    ],
)
def test_what_can_not_be_given_back_is_refused(counts: dict[str, int], code: str) -> None:
    """A pod set that is not there, more pods than there are, and fewer than before."""
    before = reclaimed(admission(), {"workers": 1})
    with pytest.raises(Rejected) as refusal:
        reclaimed(before, counts)
    assert (refusal.value.code, refusal.value.field) == (code, "reclaimablePods")


def test_what_one_pod_set_gave_back_stays_when_another_gives() -> None:
    """Of a pod set that is not named again nothing is taken back; shares are of what was admitted."""
    once = reclaimed(admission(), {"workers": 1})
    both = reclaimed(once, {"driver": 1})
    assert usage(both) == {"driver": 0, "workers": 6667}
    more = reclaimed(both, {"workers": 2})
    assert usage(more) == {"driver": 0, "workers": 3334}
    assert reclaimed(more, {"workers": 2}) == more
    assert usage(reclaimed(more, {"workers": 3})) == {"driver": 0, "workers": 0}

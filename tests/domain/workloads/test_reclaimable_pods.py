"""Pods that are not needed any more give back their quota, once and for good."""

from typing import Any

import pytest

from hub.domain.workloads.reclaimable_pods import charged_for, reclaimed, without_done_pods
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


def of_a_job(count: int, **more: Any) -> dict[str, Any]:
    """A Job's admission: pods of 1 cpu."""
    return {"podSets": [{"name": "main", "count": count, "usage": {"cpu": 1000 * count}}], **more}


@pytest.mark.parametrize(
    ("count", "completions", "succeeded", "given_back"),
    [
        (1, 3, 2, 0),  # one at a time: there is always one to come
        (2, 4, 2, 0),
        (2, 4, 3, 1),
        (2, 2, 1, 1),
        (4, 5, 4, 3),
        (4, 6, 6, 4),
        (3, None, 1, 1),  # a work queue: after the first success no pod is started
    ],
)
def test_a_job_gives_back_pods_that_will_not_be_replaced(
    count: int, completions: int | None, succeeded: int, given_back: int
) -> None:
    """The pods that run at once, minus those that are left to complete."""
    (left,) = without_done_pods(of_a_job(count), completions, succeeded)["podSets"]
    assert left.get("reclaimed", 0) == given_back
    assert left["usage"] == {"cpu": 1000 * (count - given_back)}


def test_a_job_takes_back_nothing() -> None:
    """A report of fewer succeeded pods changes nothing; more are counted from the whole."""
    once = without_done_pods(of_a_job(4), 5, 3)
    assert usage(once) == {"main": 2000}
    assert without_done_pods(once, 5, 2) == once
    assert usage(without_done_pods(once, 5, 4)) == {"main": 1000}


def test_sizes_that_come_later_are_charged_alike() -> None:
    """One pod is left: neither the smaller nor the larger size charges more than that."""
    for name in ("shrinks", "wanted"):
        later = {name: {"count": 3, "usage": {"cpu": 3000}}}
        left = without_done_pods(of_a_job(4, **later), 5, 4)
        assert left[name]["usage"] == {"cpu": 1000}


@pytest.mark.parametrize(
    ("count", "left", "cpu", "given_back"),
    [(1, 0, 100, None), (2, 0, 0, 2), (2, 1, 50, 1), (2, 2, 100, None), (2, 3, 100, None)],
)
def test_one_pod_is_charged_to_its_end_and_of_several_those_that_are_left(
    count: int, left: int, cpu: int, given_back: int | None
) -> None:
    """Pods that are left beyond the admitted number charge nothing more."""
    charged = charged_for({"name": "main", "count": count, "usage": {"f/cpu": 100}}, left)
    assert charged["usage"] == {"f/cpu": cpu}
    assert charged.get("reclaimed") == given_back

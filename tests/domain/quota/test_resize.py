"""Another number of pods: charged for at once where it is less, and where it is more once all is there."""

from typing import Any

from hub.domain.quota import resize
from hub.domain.quota.declared import FlavorResource
from hub.domain.workloads.reclaimable_pods import without_done_pods
from tests.domain.build import a_pod_set

FLAVORS = {"cpu": "spot", "pods": "any"}


def admitted(count: int, **more: Any) -> dict[str, Any]:
    """An admission of so many pods of 2 cpu, with what else was decided beside it."""
    usage = {"cpu": 2000 * count, "pods": count}
    pod_set = {"name": "main", "count": count, "flavors": FLAVORS, "usage": usage}
    return {"cluster": "north", "podSets": [pod_set], **more}


def asked(count: int) -> Any:
    return a_pod_set(count=count, requests={"cpu": 2})


def test_fewer_pods_are_charged_for_at_once_where_nobody_was_told() -> None:
    """The number of pods counts where no request names it; flavors and all else stay."""
    assert resize.resized(admitted(4), asked(3), left=9, told=False) == admitted(3)


def test_a_member_that_was_told_keeps_the_charge_until_the_pods_are_gone() -> None:
    """What will be freed is noted, and freed by `shrunk`."""
    less = {"count": 3, "usage": {"cpu": 6000, "pods": 3}}
    smaller = resize.resized(admitted(4), asked(3), left=9, told=True)
    assert smaller == admitted(4, shrinks=less)
    assert resize.shrunk(smaller) == admitted(3)


def test_the_same_number_takes_back_what_was_wished_before() -> None:
    """Neither a wish for more nor one for less is left of it."""
    for former in (6, 3):
        wished = resize.resized(admitted(4), asked(former), left=9, told=True)
        assert resize.resized(wished, asked(4), left=9, told=True) == admitted(4)


def test_more_pods_are_a_wish_for_the_difference() -> None:
    """It keeps what it has, runs smaller than wanted, and asks for the rest under its flavors."""
    wished = resize.resized(admitted(4), asked(6), left=9, told=True)
    more = {"count": 6, "usage": {"cpu": 12000, "pods": 6}}
    assert wished == admitted(4, reduced=True, wanted=more)
    charge = {FlavorResource("spot", "cpu"): 4000, FlavorResource("any", "pods"): 2}
    assert resize.growth(wished) == resize.MissingPods((2,), charge)
    assert resize.grown(wished) == admitted(6)


def test_what_has_its_size_wants_nothing() -> None:
    """No growth is asked for without a wish."""
    assert resize.growth(admitted(4)) is None
    assert resize.growth(resize.resized(admitted(4), asked(3), left=9, told=True)) is None


def test_only_resources_that_grow_are_charged() -> None:
    """What a resource is charged already is not charged again; one that has enough asks for nothing."""
    given = admitted(4)
    given["podSets"][0]["usage"] = {"cpu": 9000, "pods": 4}
    growth = resize.growth(resize.resized(given, asked(4 + 1), left=9, told=True))
    assert growth == resize.MissingPods(
        (1,), {FlavorResource("spot", "cpu"): 1000, FlavorResource("any", "pods"): 1}
    )
    given["podSets"][0]["usage"] = {"cpu": 10000, "pods": 4}
    growth = resize.growth(resize.resized(given, asked(4 + 1), left=9, told=True))
    assert growth == resize.MissingPods((1,), {FlavorResource("any", "pods"): 1})


def test_a_resource_that_is_no_longer_asked_for_is_charged_no_more() -> None:
    """What was charged before and no pod requests any more is zero; its size is that of the admission."""
    given = admitted(4)
    given["podSets"][0]["usage"]["memory"] = 4096
    left = resize.resized(given, asked(3), left=9, told=False)
    assert left["podSets"][0]["usage"] == {"cpu": 6000, "pods": 3, "memory": 0}
    assert (resize.size(given), resize.size(left)) == (4, 3)


def test_another_size_is_charged_for_the_pods_that_are_left() -> None:
    """Of 4 pods 3 have ended: fewer pods, or more, still charge one; growth charges nothing."""
    done = without_done_pods(admitted(4), 5, 4)
    fewer = resize.resized(done, asked(3), left=1, told=False)
    assert fewer["podSets"][0]["usage"] == {"cpu": 2000, "pods": 1}
    assert fewer["podSets"][0]["reclaimed"] == 2
    told = resize.resized(done, asked(3), left=1, told=True)
    assert resize.shrunk(told) == fewer
    more = resize.resized(done, asked(5), left=1, told=True)
    assert resize.growth(more) == resize.MissingPods((1,), {})
    assert resize.grown(more)["podSets"][0]["usage"] == {"cpu": 2000, "pods": 1}
    assert resize.grown(resize.resized(done, asked(5), left=9, told=True)) == admitted(5)

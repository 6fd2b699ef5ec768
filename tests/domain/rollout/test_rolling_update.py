"""RollingUpdate: KubeFleet's arithmetic of what may change now, and what may not."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hub.domain.rollout.rolling_update import (
    Holding,
    RollingUpdate as Rolling,
    Step,
    next_step,
    share,
)


def old(*names: str, **said: Any) -> list[Holding]:
    return [Holding(name, current=False, **said) for name in names]


def new(*names: str, **said: Any) -> list[Holding]:
    return [Holding(name, **said) for name in names]


def coming(*names: str) -> list[Holding]:
    return [Holding(name, given=False, current=False, ready=False) for name in names]


def unwanted(*names: str, **said: Any) -> list[Holding]:
    return [Holding(name, wanted=False, current=False, **said) for name in names]


def test_five_clusters_change_two_at_a_time():
    """The reference's example: 25 % of 5 is rounded up to 2, so 3 stay available."""
    step = next_step(old("a", "b", "c", "d", "e"), 5, Rolling())
    assert (step.update, step.held) == (("a", "b"), ("c", "d", "e"))
    step = next_step(new("a", "b", ready=False) + old("c", "d", "e"), 5, Rolling())
    assert (step.update, step.held) == ((), ("c", "d", "e"))
    assert step.why.startswith("a, b must become available first (maxUnavailable 25%")
    step = next_step(new("a", "b") + old("c", "d", "e"), 5, Rolling())
    assert (step.update, step.held) == (("c", "d"), ("e",))


def test_all_new_clusters_begin_at_once():
    """Nothing can be lost; those beyond the surge wait until others have gone."""
    assert next_step(coming("a", "b", "c"), 3, Rolling()).begin == ("a", "b", "c")
    step = next_step(old("a", "b") + coming("c", "d"), 2, Rolling(max_surge=1))
    assert (step.begin, step.held) == (("c",), ("b", "d"))


@pytest.mark.parametrize(
    ("closed", "budget", "expected"),
    [
        pytest.param(old("x", closed=True, ready=False), Rolling(1), (("a",), ("b",)), id="not ready"),
        pytest.param(old("x", closed=True), Rolling(1), (("a",), ("b",)), id="ready"),
        pytest.param(new("x", closed=True), Rolling(1), (("a",), ("b",)), id="has the newest"),
        pytest.param(old("x", closed=True, failed=True), Rolling(0), ((), ("a", "b")), id="failed"),
        pytest.param(
            [Holding("x", given=False, current=False, ready=False, closed=True)],
            Rolling(1),
            (("a",), ("b",)),
            id="given nothing",
        ),
    ],
)  # fmt: skip
def test_a_member_that_takes_nothing_new_costs_no_budget(
    closed: list[Holding], budget: Rolling, expected: tuple[tuple[str, ...], tuple[str, ...]]
):
    """It is neither begun nor changed nor held, and the others go on as if it were not wanted."""
    step = next_step([*closed, *old("a", "b")], 3, budget)
    assert (step.update, step.held) == expected
    assert not step.begin


def test_a_member_that_takes_nothing_new_is_taken_back_all_the_same():
    """Created objects may be deleted where consent was withdrawn, if its cluster is wanted no longer."""
    step = next_step([*unwanted("x", closed=True), *new("a", "b")], 2, Rolling())
    assert step.remove == ("x",)


@pytest.mark.parametrize(
    ("holdings", "target", "budget", "expected"),
    [
        pytest.param(
            unwanted("x") + coming("a"), 1, Rolling(), Step(("a",), (), ("x",)), id="switched"
        ),
        pytest.param(
            unwanted("x") + coming("a"), 1, Rolling(0, 1),
            Step(("a",), (), (), ("x",), "a must become available first (maxUnavailable 0, maxSurge 1 of 1)"),
            id="first-the-new-one",
        ),
        pytest.param(
            unwanted("x") + new("a"), 1, Rolling(0, 1), Step((), (), ("x",)), id="then-the-old-one"
        ),
        pytest.param(unwanted("x", "y") + new("a"), 1, Rolling(0, 0), Step((), (), ("x", "y")), id="fewer"),
        pytest.param(unwanted("x", "y"), 0, Rolling(0, 0), Step((), (), ("x", "y")), id="to-none"),
        pytest.param(old("a"), 1, Rolling(0, 1),
            Step((), (), (), ("a",), "no cluster may become unavailable (maxUnavailable 0, maxSurge 1 of 1): "
                 "raise maxUnavailable"), id="never"),
        pytest.param(old("a", "b", ready=False), 2, Rolling(0, 0), Step((), ("a", "b")), id="nothing-lost"),
        pytest.param(old("a", ready=False, untold=True), 1, Rolling(0, 0),
            Step((), (), (), ("a",), "a must become available first (maxUnavailable 0, maxSurge 0 of 1)"),
            id="what-may-be-available-is-waited-for"),
        pytest.param(old("a", ready=False, failed=True) + old("b"), 2, Rolling(1, 0),
            Step((), ("a",), (), ("b",), "a must become available first (maxUnavailable 1, maxSurge 0 of 2)"),
            id="failed-ones-first"),
        pytest.param(
            unwanted("x", leaving=True) + old("a"), 1, Rolling("100%", 0), Step((), ("a",)),
            id="what-leaves-is-lost-already",
        ),
        pytest.param(
            unwanted("x", ready=False, untold=True) + old("a", "b", "c"), 3, Rolling(1, 0),
            Step((), (), ("x",), ("a", "b", "c"),
                 "x must release it first (maxUnavailable 1, maxSurge 0 of 3)"),
            id="what-may-be-available-is-lost-once",
        ),
        pytest.param(
            unwanted("x", ready=False, leaving=True) + new("b") + coming("a"), 2, Rolling(0, 0),
            Step((), (), (), ("a",), "x must release it first (maxUnavailable 0, maxSurge 0 of 2)"),
            id="who-leaves-makes-room",
        ),
        pytest.param(
            new("a", ready=False, failed=True) + coming("b", "c"), 2, Rolling(1, 0), Step(("b", "c")),
            id="what-failed-takes-no-place",
        ),
        pytest.param(
            new("a", ready=False) + coming("b", "c"), 2, Rolling(1, 0),
            Step(("b",), (), (), ("c",),
                 "a, b must become available first (maxUnavailable 1, maxSurge 0 of 2)"),
            id="what-may-become-available-takes-one",
        ),
        pytest.param(new("a", "b"), 2, Rolling(), Step(), id="done"),
    ],
)  # fmt: skip
def test_what_may_happen_now(holdings: Any, target: int, budget: Rolling, expected: Step) -> None:
    """Removals go before changes; what is not ready is free to go; what waits says for what."""
    assert next_step(holdings, target, budget) == expected


@pytest.mark.parametrize(
    ("of", "target", "number"),
    [(3, 10, 3), ("3", 10, 3), ("25%", 5, 2), ("0%", 5, 0), ("1%", 1, 1)],
)
def test_percents_are_rounded_up(of: int | str, target: int, number: int) -> None:
    """Of the target; a number may be a text."""
    assert share(of, target) == number


def test_a_strategy_says_what_it_says_and_no_more():
    """KubeFleet's defaults are 25 %, 25 % and 60 s; a period of 0 is one."""
    assert Rolling.read({}) == Rolling("25%", "25%", dt.timedelta(seconds=60))
    told = {"maxUnavailable": 1, "maxSurge": 0, "unavailablePeriodSeconds": 0}
    assert Rolling.read({"rollingUpdate": told}) == Rolling(1, 0, dt.timedelta(0))


@st.composite
def fleets(draw: st.DrawFn) -> list[Holding]:
    """Clusters in any state that can be."""
    found = []
    for number in range(draw(st.integers(0, 12))):
        wanted, given = draw(st.booleans()), draw(st.booleans())
        flags = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
        leaving = not wanted and flags[2]
        given = given or not wanted
        found.append(
            Holding(
                f"c{number:02}",
                wanted,
                given,
                given and wanted and flags[0],
                given and flags[1],
                leaving=leaving,
            )
        )
    return found


@given(fleets(), st.sampled_from([0, 1, 3, "25%", "100%"]), st.sampled_from([0, 1, "50%"]))
@settings(max_examples=300, deadline=None)
def test_the_budget_holds_whatever_there_is(fleet: Any, unavailable: Any, surge: Any) -> None:
    """Never fewer ready than may be, never more than the surge, and everybody is dealt with or held."""
    target = sum(each.wanted for each in fleet)
    step = next_step(fleet, target, Rolling(unavailable, surge))
    by_name = {each.cluster: each for each in fleet}
    changed = [by_name[name] for name in (*step.update, *step.remove)]
    ready = sum(e.given and e.ready and not e.leaving for e in fleet)
    lost = sum(each.ready for each in changed)
    assert lost == 0 or ready - lost >= target - share(unavailable, target)
    there = sum(each.given for each in fleet) + len(step.begin)
    assert not step.begin or there <= target + share(surge, target)
    asked = {e.cluster for e in fleet if not e.leaving and (not e.wanted or not e.current)}
    dealt = [*step.begin, *step.update, *step.remove, *step.held]
    assert sorted(dealt) == sorted(asked)
    assert bool(step.held) == bool(step.why)

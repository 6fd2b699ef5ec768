"""Objects of a placement go to members whose namespaces accept the hub; reports that are due are awaited."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement import registry
from hub.domain.placement.pick import Decisions, Scores, pick
from hub.domain.placement.plugins.consent import NamespacesAccepted
from hub.domain.workloads.placement_policy import Policy
from shared.consent import NOT_ACCEPTED
from tests.domain.build import NOW, a_cluster

SECOND = dt.timedelta(seconds=1)
BOTH: Mapping[str, str] = {"shop": "Created", "team": "Labelled"}
NO: Mapping[str, str] = {"shop": NOT_ACCEPTED, "team": NOT_ACCEPTED}
ALL, TWO = Policy(), Policy("PickN", 2)
FIXED = Policy("PickFixed", cluster_names=("a", "b"))


def member(name: str, consent: Mapping[str, str] | None) -> Cluster:
    return a_cluster(name=name, consent=consent)


def accepts(due: dt.timedelta | None = None, holding: str = "") -> NamespacesAccepted:
    """Of namespaces shop and team; `due`: when the reports of both are."""
    times = {} if due is None else dict.fromkeys(("shop", "team"), NOW + due)
    return NamespacesAccepted(("shop", "team"), "hub-1", times, frozenset(holding))


def decided(policy: Policy, *members: Cluster, rule: NamespacesAccepted, **more: Any) -> Decisions:
    return pick(policy, members, NOW, filters=(*registry.FILTERS, rule), **more)


@pytest.mark.parametrize(
    ("consent", "says"),
    [
        pytest.param(None, None, id="an agent of an earlier release reports none"),
        pytest.param(BOTH, None, id="both are usable"),
        pytest.param({"shop": "Absent", "team": "Named"}, None, id="the agent creates one"),
        pytest.param({"shop": "Created", "team": NOT_ACCEPTED}, "namespace team does", id="one"),
        pytest.param(NO, "namespaces shop team do", id="neither"),
        pytest.param({"team": NOT_ACCEPTED}, "namespace team does", id="one, the other is due"),
        pytest.param({"team": "Created"}, "its agent has yet to report whether namespace shop", id="due"),
    ],
)  # fmt: skip
def test_each_namespace_of_the_objects_counts(
    consent: Mapping[str, str] | None, says: str | None
) -> None:
    """A refusal by one namespace is a refusal, and known at once."""
    found = accepts().verdict(member("a", consent))
    assert (found is None) == (says is None)
    if found is not None and says is not None:
        assert found.message.startswith(says)


def test_the_refusal_names_one_command_for_all_namespaces() -> None:
    """At most five namespaces, and the number of the others."""
    names = tuple(f"n{number}" for number in range(7))
    refusing = member("a", dict.fromkeys(names, NOT_ACCEPTED))
    found = NamespacesAccepted(names, "hub-1").verdict(refusing)
    assert found is not None
    assert found.message == (
        "namespaces n0 n1 n2 n3 n4 and 2 more do not accept this hub; to accept it there: "
        "kubectl label namespace n0 n1 n2 n3 n4 roadstead.dev/accept=hub-1"
    )


@pytest.mark.parametrize(
    ("policy", "picked", "fulfilled"),
    [(ALL, ("b",), True), (TWO, ("b",), False), (FIXED, ("b",), False)],
)
def test_a_member_without_consent_is_not_picked(
    policy: Policy, picked: tuple[str, ...], fulfilled: bool
) -> None:
    """By no policy, and a policy that names it says why."""
    found = decided(policy, member("a", NO), member("b", BOTH), rule=accepts())
    assert (found.selected, found.fulfilled) == (picked, fulfilled)
    (refused,) = [each for each in found.decisions if not each.selected]
    assert refused.cause == NOT_ACCEPTED
    assert "kubectl label namespace shop team roadstead.dev/accept=hub-1" in refused.message


@pytest.mark.parametrize("policy", [ALL, TWO, FIXED])
def test_a_member_that_is_chosen_already_stays(policy: Policy) -> None:
    """Withdrawn consent removes nothing; the rollout decides about new versions."""
    members = [member("a", NO), member("b", BOTH)]
    chosen = {"a": Scores(), "b": Scores()}
    assert decided(policy, *members, rule=accepts(), chosen=chosen).selected == ("a", "b")


@pytest.mark.parametrize("policy", [ALL, TWO])
def test_a_changed_policy_takes_nothing_off_a_member_that_withdrew_consent(policy: Policy) -> None:
    """It competes with the objects that it holds, whether or not it consents to new writes."""
    members = [member("a", NO), member("b", BOTH)]
    found = decided(policy, *members, rule=accepts(holding="a"), obsolete=["a"])
    assert found.selected == ("a", "b")


@pytest.mark.parametrize(
    ("policy", "seconds", "picked", "awaited"),
    [
        pytest.param(TWO, 2, (), ("a",), id="the first to answer does not win by that"),
        pytest.param(TWO, 0, ("b", "c"), (), id="once due, others are picked"),
        pytest.param(ALL, 2, ("b", "c"), ("a",), id="all are picked as they answer"),
        pytest.param(FIXED, 2, ("b",), ("a",), id="those named too"),
    ],
)
def test_reports_that_are_due_are_awaited(
    policy: Policy, seconds: int, picked: tuple[str, ...], awaited: tuple[str, ...]
) -> None:
    """Until their deadline; the answer names the members and the time of the next check."""
    members = [member("a", {}), member("b", BOTH), member("c", BOTH)]
    found = decided(policy, *members, rule=accepts(seconds * SECOND))
    assert (found.selected, found.awaited) == (picked, awaited)
    assert found.again_at == (NOW + seconds * SECOND if awaited else None)
    assert ("waits a moment for the report of a" in found.message) == bool(awaited)


def test_nothing_is_awaited_where_enough_are_chosen() -> None:
    """A new namespace of a placement that has its clusters holds up no decision."""
    members = [member("a", BOTH), member("b", BOTH), member("c", {})]
    chosen = {"a": Scores(), "b": Scores()}
    found = decided(TWO, *members, rule=accepts(2 * SECOND), chosen=chosen)
    assert (found.selected, found.awaited, found.fulfilled) == (("a", "b"), (), True)


def test_a_changed_policy_waits_for_no_report() -> None:
    """The hub would withdraw its objects meanwhile."""
    members = [member("a", BOTH), member("b", {})]
    found = decided(TWO, *members, rule=accepts(2 * SECOND, holding="a"), obsolete=["a"])
    assert found.selected == ("a",)

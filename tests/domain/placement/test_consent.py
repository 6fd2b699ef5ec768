"""A workload goes only to members whose namespace accepts the hub, and waits a moment for reports."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement.framework import held_back, sieve
from hub.domain.placement.registry import filters
from hub.domain.selectors import Taint
from hub.domain.workloads.demand import Constraints
from shared.consent import NOT_ACCEPTED
from tests.domain.build import NOW, a_cluster

SECOND = dt.timedelta(seconds=1)
OF_TEAM = Constraints(consent=("team", "hub-1"))


def reports(name: str, consent: Mapping[str, str] | None) -> Cluster:
    return a_cluster(name=name, consent=consent)


@pytest.mark.parametrize("state", ["Absent", "Created", "Labelled", "Named"])
def test_a_usable_namespace_takes_the_workload(state: str) -> None:
    """Whoever made it: the agent, people who accept the hub, or nobody yet."""
    assert sieve(filters(), OF_TEAM, [reports("c", {"team": state})], NOW).passed == {"c"}


def test_an_agent_of_an_earlier_release_reports_no_consent() -> None:
    """Its member takes workloads as before."""
    assert sieve(filters(), OF_TEAM, [reports("c", None)], NOW).passed == {"c"}


def test_without_consent_the_words_name_the_command() -> None:
    """Workloads without the constraint are not asked for it."""
    refuses = reports("c", {"team": NOT_ACCEPTED})
    (verdict,) = sieve(filters(), OF_TEAM, [refuses], NOW).rejected
    assert verdict.rejection.reason == NOT_ACCEPTED
    assert "kubectl label namespace team roadstead.dev/accept=hub-1" in verdict.rejection.message
    assert sieve(filters(), Constraints(), [refuses], NOW).passed == {"c"}


@pytest.mark.parametrize(("seconds", "passes"), [(1, set()), (0, {"said"}), (-1, {"said"})])
def test_a_report_to_come_holds_the_workload_until_it_is_due(
    seconds: int, passes: set[str]
) -> None:
    """Until then no other member takes it; afterwards the member that has not reported is left out."""
    due = {"team": NOW + seconds * SECOND}
    clusters = [reports("said", {"team": "Absent"}), reports("silent", {})]
    found = held_back(sieve(filters(reports_due=due), OF_TEAM, clusters, NOW), {"said", "silent"})
    assert found.passed == passes
    if not passes:
        assert found.again_at == due["team"]
        assert {each.rejection.reason for each in found.rejected} == {"AwaitingConsentReport"}
        assert "the report of silent" in found.rejected[0].rejection.message


def test_another_namespace_that_is_awaited_holds_nothing() -> None:
    """Each namespace has a time of its own."""
    due = {"other": NOW + SECOND}
    clusters = [reports("said", {"team": "Absent"}), reports("silent", {})]
    assert sieve(filters(reports_due=due), OF_TEAM, clusters, NOW).awaited == ()


def test_a_cluster_that_could_not_hold_the_workload_is_not_awaited() -> None:
    """The others take it at once; the one without a report stays rejected."""
    due = {"team": NOW + SECOND}
    clusters = [reports("said", {"team": "Absent"}), reports("silent", {})]
    found = held_back(sieve(filters(reports_due=due), OF_TEAM, clusters, NOW), {"said"})
    assert found.passed == {"said"}
    assert [each.cluster for each in found.rejected] == ["silent"]


@pytest.mark.parametrize(
    "unfit",
    [
        {"cordoned": True},
        {"heartbeat_at": NOW - 600 * SECOND},
        {"joined": False},
        {"taints": (Taint("gpu", "", "NoSchedule"),)},
    ],
    ids=["cordoned", "silent", "not joined", "tainted"],
)
def test_a_cluster_that_another_filter_rejects_is_not_awaited(unfit: dict[str, Any]) -> None:
    """The reports of consent are looked at last."""
    due = {"team": NOW + SECOND}
    silent = a_cluster(name="silent", consent={}, **unfit)
    clusters = [reports("said", {"team": "Absent"}), silent]
    found = sieve(filters(reports_due=due), OF_TEAM, clusters, NOW)
    assert found.passed == {"said"}
    assert found.awaited == ()

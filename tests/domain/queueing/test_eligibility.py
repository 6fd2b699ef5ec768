"""May queues admit: of several reasons the one that Kueue gives."""

from dataclasses import replace
from typing import Any

import pytest

from hub.domain.plan import Reason
from hub.domain.queueing.eligibility import Inactive, inactivity, may_admit, may_admit_from
from hub.domain.quota.declared import LocalQueue
from hub.domain.workloads.admission_checks import Fault
from shared.selectors import read_selector
from tests.domain.build import a_queue
from tests.offline import build
from tests.offline.build import (
    a_condition,
    a_workload,
    play,
    stamp,
)

FAULT = Fault("AdmissionCheckNotFound", "AdmissionChecks not found: budget")
OPEN = LocalQueue("team", "door", "all")
HELD = LocalQueue("team", "door", "all", "Hold")
MISSING = Inactive("FlavorNotFound", "spot")


@pytest.mark.parametrize(
    ("local_queue", "exists", "inactive", "reason", "condition"),
    [
        (None, False, None, Reason.QUEUE_NOT_FOUND, ""),
        (HELD, False, None, Reason.QUEUE_STOPPED, "Stopped"),
        (HELD, True, MISSING, Reason.QUEUE_STOPPED, "Stopped"),
        (OPEN, False, None, Reason.QUEUE_NOT_FOUND, "ClusterQueueDoesNotExist"),
        (OPEN, True, Inactive("Stopped", "Hold"), Reason.QUEUE_STOPPED, "ClusterQueueIsInactive"),
        (OPEN, True, MISSING, Reason.MISCONFIGURED, "ClusterQueueIsInactive"),
        (OPEN, True, None, None, "Ready"),
    ],
)
def test_the_local_queue_is_asked_before_its_cluster_queue(
    local_queue: LocalQueue | None,
    exists: bool,
    inactive: Inactive | None,
    reason: Reason | None,
    condition: str,
) -> None:
    """Missing, stopped, without ClusterQueue, with one that admits nothing: in this order."""
    verdict = may_admit(local_queue, inactive, named="door", exists=exists)
    assert (verdict.reason, verdict.condition) == (reason, condition)
    assert verdict.admits == (reason is None)


@pytest.mark.parametrize(
    ("stop_policy", "cycle", "flavors", "checks", "reason"),
    [
        ("Hold", ("a", "a"), set(), FAULT, "Stopped"),
        ("None", ("a", "a"), set(), FAULT, "CohortCycle"),
        ("None", (), set(), FAULT, "FlavorNotFound"),
        ("None", (), {"spot"}, FAULT, "AdmissionCheckNotFound"),
        ("None", (), {"spot"}, None, None),
    ],
)
def test_a_cluster_queue_gives_one_reason(
    stop_policy: str,
    cycle: tuple[str, ...],
    flavors: set[str],
    checks: Fault | None,
    reason: str | None,
) -> None:
    """Stopped, then cohorts in a cycle, then missing flavors, then its checks."""
    why = inactivity(stop_policy, cycle, ["spot"], flavors, checks)
    assert (why.reason if why else None) == reason


def test_a_namespace_has_at_least_its_name() -> None:
    """One that nobody has described is selected by the label that every namespace has."""
    by_name = read_selector({"matchLabels": {"kubernetes.io/metadata.name": "team"}})
    queue = replace(a_queue(), selector=by_name)
    assert may_admit_from("team", queue, {}).admits
    assert may_admit_from("other", queue, {}).reason is Reason.NAMESPACE_MISMATCH


def test_a_namespace_that_is_not_given_has_its_name_label() -> None:
    """A selector on kubernetes.io/metadata.name works for namespaces that are not among the inputs."""
    by_name = {"matchLabels": {"kubernetes.io/metadata.name": "ns"}}
    played = play(build.a_queue("q", 1, namespaceSelector=by_name), a_workload("w", "q"))
    assert played.verdict("w") == ("admitted", None)


@pytest.mark.parametrize(
    ("missing", "verdict"),
    [("Everything", ("admitted", None)), ("Nothing", ("pending", "parked"))],
)
def test_a_missing_selector_follows_the_setting(
    missing: str, verdict: tuple[str, str | None]
) -> None:
    """A null namespaceSelector admits everything or nothing, as configured."""
    played = play(
        build.a_queue("q", 1, namespaceSelector=None),
        a_workload("w", "q"),
        settings={"missingNamespaceSelector": missing},
    )
    assert played.verdict("w") == verdict


@pytest.mark.parametrize(
    ("queue", "workload", "reason"),
    [
        ({"stopPolicy": "Hold"}, {}, "Suspended"),
        ({}, {"active": False}, "Deactivated"),
        ({}, {"status": {"requeueState": {"requeueAt": stamp(60)}}}, "NotConsidered"),
        ({}, {"conditions": [a_condition("Requeued", status="False")]}, "NotConsidered"),
        ({"quota": {"missing": 5}}, {}, "Misconfigured"),
    ],
)
def test_what_keeps_a_turn_from_coming(
    queue: dict[str, Any], workload: dict[str, Any], reason: str
) -> None:
    """Stopped and inactive queues, deactivated workloads and back-off: no turn, and why."""
    played = play(build.a_queue("q", **{"quota": 5, **queue}), a_workload("w", "q", **workload))
    assert played.verdict("w") == ("pending", None)
    assert played.of("w")["reason"] == reason


def test_failed_checks_are_inadmissible() -> None:
    """A workload with a rejected admission check is considered and parked."""
    checks = [{"name": "budget", "state": "Rejected"}]
    played = play(build.a_queue("q", 5), a_workload("w", "q", status={"admissionChecks": checks}))
    assert played.verdict("w") == ("pending", "parked")
    assert played.of("w")["reason"] == "PendingEvaluation"


def test_a_namespace_that_is_not_admitted_is_a_misconfiguration() -> None:
    """Where the queue's selector does not match, the reason is Misconfigured."""
    selector = {"matchLabels": {"team": "x"}}
    played = play(build.a_queue("q", 1, namespaceSelector=selector), a_workload("w", "q"))
    assert played.of("w")["reason"] == "Misconfigured"


def test_local_queue_record() -> None:
    """A LocalQueue without stop policy is not stopped."""
    assert not LocalQueue("ns", "lq", "q").stopped

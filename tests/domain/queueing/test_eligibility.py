"""Whether a workload may have its turn: queues, namespaces, checks, back-off."""

from typing import Any

import pytest

from hub.domain.quota.declared import LocalQueue
from tests.offline.build import (
    a_condition,
    a_queue,
    a_workload,
    play,
    stamp,
)


def test_a_namespace_that_is_not_given_has_its_name_label() -> None:
    """A selector on kubernetes.io/metadata.name works for namespaces that are not among the inputs."""
    by_name = {"matchLabels": {"kubernetes.io/metadata.name": "ns"}}
    played = play(a_queue("q", 1, namespaceSelector=by_name), a_workload("w", "q"))
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
        a_queue("q", 1, namespaceSelector=None),
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
    played = play(a_queue("q", **{"quota": 5, **queue}), a_workload("w", "q", **workload))
    assert played.verdict("w") == ("pending", None)
    assert played.of("w")["reason"] == reason


def test_failed_checks_are_inadmissible() -> None:
    """A workload with a rejected admission check is considered and parked."""
    checks = [{"name": "budget", "state": "Rejected"}]
    played = play(a_queue("q", 5), a_workload("w", "q", status={"admissionChecks": checks}))
    assert played.verdict("w") == ("pending", "parked")
    assert played.of("w")["reason"] == "PendingEvaluation"


def test_a_namespace_that_is_not_admitted_is_a_misconfiguration() -> None:
    """Where the queue's selector does not match, the reason is Misconfigured."""
    selector = {"matchLabels": {"team": "x"}}
    played = play(a_queue("q", 1, namespaceSelector=selector), a_workload("w", "q"))
    assert played.of("w")["reason"] == "Misconfigured"


def test_local_queue_record() -> None:
    """A LocalQueue without stop policy is not stopped."""
    assert not LocalQueue("ns", "lq", "q").stopped

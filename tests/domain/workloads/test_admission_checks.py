"""Admission checks, pure: which make a queue inactive, what answers amount to, what they add to pods."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.domain.workloads import admission_checks
from hub.domain.workloads.admission_checks import MULTIKUEUE, PROVISIONING, Answer, Check

NONE: frozenset[str] = frozenset()
KNOWN = {
    "budget": Check("budget", "example.com/budget"),
    "idle": Check("idle", "example.com/idle", active=False),
    "mk": Check("mk", MULTIKUEUE),
    "mk2": Check("mk2", MULTIKUEUE),
    "nodes": Check("nodes", PROVISIONING),
}


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ((), None),
        ((("budget", NONE),), None),
        ((("gone", NONE), ("idle", NONE)), "AdmissionCheckNotFound"),
        ((("idle", NONE),), "AdmissionCheckInactive"),
        ((("mk", NONE), ("budget", NONE)), None),
        ((("mk", NONE), ("mk2", NONE)), "MultipleMultiKueueAdmissionChecks"),
        ((("mk", frozenset({"spot"})),), "MultiKueueAdmissionCheckAppliedPerFlavor"),
        ((("mk", NONE), ("nodes", NONE)), "MultiKueueWithProvisioningRequest"),
        ((("nodes", NONE), ("budget", frozenset({"spot"}))), None),
    ],
)
def test_checks_that_make_a_queue_inactive(
    rules: admission_checks.Rules, reason: str | None
) -> None:
    """Missing, inactive, or MultiKueue combined as it may not be: Kueue's reasons."""
    fault = admission_checks.queue_fault(rules, KNOWN)
    assert (fault.reason if fault else None) == reason


@pytest.mark.parametrize(
    ("states", "amount_to"),
    [
        ([], "Ready"),
        (["Ready", "Ready"], "Ready"),
        (["Ready", "Pending"], "Pending"),
        (["Pending", "Retry"], "Retry"),
        (["Retry", "Rejected", "Ready"], "Rejected"),
    ],
)
def test_the_gravest_answer_counts(states: list[str], amount_to: str) -> None:
    """Rejected before Retry before Pending before Ready; no checks are Ready."""
    given_ = {str(n): {"state": state} for n, state in enumerate(states)}
    assert admission_checks.verdict(given_) == amount_to


def test_a_reservation_opens_its_checks() -> None:
    """Outsiders' checks are Pending, the hub's own are Ready; how often one said Retry is kept."""
    former = {"budget": {"state": "Pending", "retryCount": 2}}
    opened = admission_checks.opened(("budget", "mk"), KNOWN, former, "now")
    assert {name: each["state"] for name, each in opened.items()} == {
        "budget": "Pending",
        "mk": "Ready",
    }
    assert opened["budget"]["retryCount"] == 2
    assert admission_checks.still_open(opened) == ["budget"]


def test_an_eviction_asks_anew_and_counts_retries() -> None:
    """All are Pending again, saying what they were; who said Retry has said so once more."""
    states: dict[str, dict[str, Any]] = {
        "budget": {"state": "Retry", "message": "no money", "retryCount": 1},
        "zone": {"state": "Ready", "podSetUpdates": [{"name": "main"}]},
    }
    closed = admission_checks.closed(states, "now")
    assert {each["state"] for each in closed.values()} == {"Pending"}
    assert closed["budget"]["retryCount"] == 2
    assert closed["budget"]["message"].endswith("it was Retry: no money")
    assert closed["zone"].keys() == {"state", "message", "at"}


def test_a_queue_that_changes_its_checks_keeps_answers() -> None:
    """What is still asked keeps its answer, what is new is Pending, what is dropped is forgotten."""
    states = {"a": {"state": "Ready"}, "b": {"state": "Pending"}}
    fresh = {"a": {"state": "Pending"}, "c": {"state": "Pending"}}
    assert admission_checks.synced(states, ("a", "c"), fresh) == {
        "a": {"state": "Ready"},
        "c": {"state": "Pending"},
    }
    assert admission_checks.synced(states, ("b", "a"), fresh) is None


def _said(*updates: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"check-{n}": {"state": "Ready", "podSetUpdates": [{"name": "main", **update}]}
        for n, update in enumerate(updates)
    }


@pytest.mark.parametrize(
    ("states", "injected", "conflict"),
    [
        (_said({"labels": {"a": "1"}}, {"labels": {"b": "2"}}), {}, ""),
        (_said({"labels": {"a": "1"}}, {"labels": {"a": "1"}}), {}, ""),
        (
            _said({"labels": {"a": "1"}}, {"labels": {"a": "2"}}),
            {},
            "labels a: check check-0 wants 1, check check-1 wants 2",
        ),
        (
            _said({"nodeSelector": {"zone": "b"}}),
            {"zone": "a"},
            "nodeSelector zone: its flavor wants a, check check-0 wants b",
        ),
    ],
)
def test_updates_are_additive_and_conflicts_are_told(
    states: dict[str, dict[str, Any]], injected: dict[str, str], conflict: str
) -> None:
    """The same said twice is no conflict; two values for one key are, also against the flavor."""
    assert "; ".join(admission_checks.additions(states, "main", injected).conflicts) == conflict


def test_updates_of_other_pod_sets_are_not_taken() -> None:
    """An update is of one pod set."""
    assert not admission_checks.additions(_said({"labels": {"a": "1"}}), "workers", {}).labels


def test_updates_against_the_template_are_told() -> None:
    """What the pods' own template says can not be overruled."""
    found = admission_checks.additions(_said({"labels": {"team": "a"}}), "main", {"zone": "x"})
    assert admission_checks.template_conflicts(found, {"team": "b"}, {}, {"zone": "x"}) == [
        "labels team: the template says b, checks want a"
    ]


@pytest.mark.parametrize(
    ("required", "names"),
    [(["a", "b"], None), (["a"], ["a"]), (["a", "b", "c"], ["a", "b", "c"]), ([], [])],
    ids=["as before", "one less", "one more", "none"],
)
def test_checks_follow_what_the_queue_asks_for_now(
    required: list[str], names: list[str] | None
) -> None:
    """A check that is no longer asked for goes, a new one comes, and answers to the others stay."""
    states = {"a": {"state": "Ready"}, "b": {"state": "Pending"}}
    fresh = {name: {"state": "Pending", "message": "new"} for name in required}
    expected = None if names is None else {name: states.get(name, fresh[name]) for name in names}
    assert admission_checks.synced(states, required, fresh) == expected


answers = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.fixed_dictionaries({"state": st.sampled_from([str(a) for a in Answer])}),
)


@given(answers)
def test_ready_by_all_is_the_only_way_in(states: dict[str, dict[str, str]]) -> None:
    """A workload passes exactly when no check is open."""
    assert (admission_checks.verdict(states) is Answer.READY) == (
        admission_checks.still_open(states) == []
    )
    assert admission_checks.verdict(admission_checks.closed(states, "now")) in (
        {Answer.PENDING} if states else {Answer.READY}
    )


def test_tolerations_of_several_checks_are_listed_once() -> None:
    """In the order in which they are told; what is given stays the caller's."""
    spot, gpu = {"key": "spot"}, {"key": "gpu"}
    states = {
        "a": {"state": "Ready", "podSetUpdates": [{"name": "main", "tolerations": [spot, gpu]}]},
        "b": {"state": "Ready", "podSetUpdates": [{"name": "main", "tolerations": [gpu, spot]}]},
    }
    found = admission_checks.additions(states, "main", {})
    assert found.tolerations == [spot, gpu]
    found.tolerations[0]["key"] = "other"
    assert spot == {"key": "spot"}


@pytest.mark.parametrize(
    ("spans", "seconds"), [((), None), ((0,), None), ((30,), 30), ((30, 90, 60), 90)]
)
def test_the_longest_span_that_a_retry_asks_for(
    spans: tuple[int, ...], seconds: int | None
) -> None:
    """Of those that say Retry; none is at once."""
    states = {str(n): {"state": "Retry", "requeueAfterSeconds": s} for n, s in enumerate(spans)}
    states["other"] = {"state": "Ready", "requeueAfterSeconds": 999}
    span = admission_checks.requeue_span(states)
    assert (None if span is None else span.total_seconds()) == seconds


@pytest.mark.parametrize(
    ("update", "asks"),
    [
        ({"labels": {"a": "1"}}, 0),
        ({"nodeSelector": {"zone": "x"}}, 2),
        ({"tolerations": [{"key": "spot"}]}, 2),
    ],
    ids=["labels alone", "a selector", "a toleration"],
)
def test_what_answers_ask_of_nodes(update: dict[str, Any], asks: int) -> None:
    """A selector or a toleration of one pod set is told with what the others add, which is nothing."""
    found = admission_checks.node_asks(_said(update), ["main", "workers"])
    assert len(found) == asks
    if found:
        mine, others = found
        assert mine.node_selector == update.get("nodeSelector", {})
        assert mine.tolerations == update.get("tolerations", [])
        assert not others.node_selector
        assert not others.tolerations


@pytest.mark.parametrize("state", ["Ready", "Pending", "Rejected"])
def test_how_often_a_check_said_retry_outlives_other_evictions(state: str) -> None:
    """Whatever it says when another check, or a preemption, takes the quota back."""
    states: dict[str, dict[str, Any]] = {"budget": {"state": state, "retryCount": 3}}
    assert admission_checks.closed(states, "now")["budget"]["retryCount"] == 3

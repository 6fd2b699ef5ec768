"""Partial admission, requeueing, order in a queue, history, gates of eligibility (rows A, B, S)."""

from typing import Any

import pytest

from hub.domain.queueing.requeue import Outcome, Where, is_sticky, wake, where_next
from hub.domain.quota.declared import LocalQueue
from hub.domain.quota.holders import PendingWorkload
from tests.queueing.build import (
    a_condition,
    a_flavor,
    a_holder,
    a_local_queue,
    a_queue,
    a_workload,
    play,
    pods,
    stamp,
)

PARTIAL = {"partialAdmission": True}


def test_a1_the_largest_count_that_fits() -> None:
    """A1: 50 pods of 2 against 50: with at least 20, 25 are admitted."""
    played = play(
        a_queue("q", 50), a_workload("new", "q", pod_sets=[pods(2, 50, 20)]), settings=PARTIAL
    )
    assert (played.verdict("new"), played.counts("new")) == (("admitted", None), [25])


_GANG = [pods(1, 20, name="a"), pods(1, 30, 10, name="b"), pods(1, 15, 5, name="c")]


def test_a2_several_pod_sets_shrink_together() -> None:
    """A2: 20 fixed, 30 (at least 10), 15 (at least 5) against 50: 20, 20, 10."""
    played = play(a_queue("q", 50), a_workload("new", "q", pod_sets=_GANG), settings=PARTIAL)
    assert played.counts("new") == [20, 20, 10]


def test_a2_all_or_nothing_without_partial_admission() -> None:
    """A2: with the setting off nothing is admitted: a gang."""
    played = play(a_queue("q", 50), a_workload("new", "q", pod_sets=_GANG))
    assert played.verdict("new") == ("pending", "parked")


_TABLE = [
    (Outcome.NAMESPACE_MISMATCH, Where.PARKED, Where.PARKED),
    (Outcome.GENERIC, Where.HEAP, Where.PARKED),
    (Outcome.NO_FIT, Where.HEAP, Where.PARKED),
    (Outcome.NO_CANDIDATES, Where.HEAP, Where.PARKED),
    (Outcome.GATED, Where.HEAP, Where.PARKED),
    (Outcome.FAILED_AFTER_NOMINATION, Where.HEAP, Where.HEAP),
    (Outcome.PENDING_PREEMPTION, Where.HEAP, Where.HEAP),
    (Outcome.PREEMPTION_FAILED, Where.HEAP, Where.HEAP),
]


@pytest.mark.parametrize(("outcome", "strict", "best_effort"), _TABLE)
def test_b1_requeue_table(outcome: Outcome, strict: Where, best_effort: Where) -> None:
    """B1: where a workload waits after each outcome, under both strategies."""
    assert where_next(outcome, strict=True) is strict
    assert where_next(outcome, strict=False) is best_effort


def test_b1_untried_flavors_and_wake_events() -> None:
    """B1: with flavors left to try, or an event during the cycle, it goes back on the heap."""
    assert where_next(Outcome.NO_FIT, strict=False, untried_flavors=True) is Where.HEAP
    assert where_next(Outcome.NO_FIT, strict=False, woken=True) is Where.HEAP
    assert is_sticky(Outcome.PENDING_PREEMPTION, strict=False)
    assert not is_sticky(Outcome.PENDING_PREEMPTION, strict=True)


@pytest.mark.parametrize(
    ("selector", "requeue"), [({}, "heap"), ({"matchLabels": {"team": "x"}}, "parked")]
)
def test_b2_strict_fifo(selector: dict[str, Any], requeue: str) -> None:
    """B2: a strict head that does not fit is back on the heap; only a namespace mismatch parks."""
    played = play(
        a_queue("q", 1, queueingStrategy="StrictFIFO", namespaceSelector=selector),
        a_workload("head", "q", 2, age=9),
        a_workload("behind", "q", 1),
        rounds=1,
    )
    assert played.verdict("head") == ("pending", requeue)
    assert played.of("behind")["reason"] == "NotConsidered"


def test_strict_fifo_never_passes_its_head() -> None:
    """However many rounds: nobody is admitted past a strict head; best effort passes it."""
    for strategy, admitted in (("StrictFIFO", set()), ("BestEffortFIFO", {"behind"})):
        played = play(
            a_queue("q", 1, queueingStrategy=strategy),
            a_workload("head", "q", 2, age=9),
            a_workload("behind", "q", 1),
            rounds=5,
        )
        assert played.admitted() == admitted


def test_b3_what_a_wake_event_moves() -> None:
    """B3: neither a namespace that does not match nor one whose time has not come is woken."""
    parked = [
        PendingWorkload("1", "match", "a", "q", ()),
        PendingWorkload("2", "other", "b", "q", ()),
        PendingWorkload("3", "match", "c", "q", (), requeue_at=100),
    ]
    assert [w.name for w in wake(parked, 50, {"match": True, "other": False})] == ["a"]


@pytest.mark.parametrize(("timestamp", "first"), [("Eviction", "w2"), ("Creation", "w1")])
def test_b4_eviction_by_timeout_moves_back(timestamp: str, first: str) -> None:
    """B4: w1 is older but was evicted by PodsReadyTimeout after w2 was created."""
    evicted = [a_condition("Evicted", "PodsReadyTimeout", since=-10)]
    played = play(
        a_queue("q", 1),
        a_workload("w1", "q", age=100, conditions=evicted),
        a_workload("w2", "q", age=50),
        settings={"waitForPodsReady": {"requeuingStrategy": {"timestamp": timestamp}}},
    )
    assert played.admitted() == {first}


_AFS = {"admissionFairSharing": {"usageHalfLifeTime": "1h", "usageSamplingInterval": "5m"}}
_BY_USAGE: dict[str, Any] = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


def _with_history(name: str, used: int, weight: object = 1) -> dict[str, Any]:
    status = {"fairSharing": {"admissionFairSharingStatus": {"consumedResources": {"cpu": used}}}}
    return a_local_queue(name, "q", spec={"fairSharing": {"weight": weight}}, status=status)


def test_s1_lower_usage_goes_first() -> None:
    """S1: rank 10 against 6/2 = 3: the lower goes first, whatever the priorities."""
    played = play(
        a_queue("q", 1, **_BY_USAGE),
        _with_history("lq-a", 10),
        _with_history("lq-b", 6, 2),
        a_workload("wa", "lq-a", prio=2),
        a_workload("wb", "lq-b", prio=1),
        settings=_AFS,
    )
    assert played.admitted() == {"wb"}


def test_s1_without_the_scope_priority_decides() -> None:
    """S1: history counts only where the queue's admissionScope says so."""
    played = play(
        a_queue("q", 1),
        _with_history("lq-a", 10),
        _with_history("lq-b", 6, 2),
        a_workload("wa", "lq-a", prio=2),
        a_workload("wb", "lq-b", prio=1),
        settings=_AFS,
    )
    assert played.admitted() == {"wa"}


def test_s3_weight_zero_goes_last() -> None:
    """S3: with no usage on either side, the LocalQueue of weight 0 is last."""
    played = play(
        a_queue("q", 1, **_BY_USAGE),
        _with_history("lq-a", 0, 0),
        _with_history("lq-b", 0),
        a_workload("wa", "lq-a", prio=9, age=99),
        a_workload("wb", "lq-b"),
        settings=_AFS,
    )
    assert played.admitted() == {"wb"}


def test_an_admission_counts_at_once() -> None:
    """The entry penalty of one admission lets the other LocalQueue go next."""
    played = play(
        a_queue("q", 2, **_BY_USAGE),
        _with_history("lq-a", 0),
        _with_history("lq-b", 0),
        a_workload("a1", "lq-a", prio=9),
        a_workload("a2", "lq-a", prio=9),
        a_workload("b1", "lq-b"),
        settings=_AFS,
        rounds=2,
    )
    assert played.admitted() == {"a1", "b1"}


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
    quota = queue.pop("quota", 5)
    played = play(a_queue("q", quota, **queue), a_workload("w", "q", **workload))
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


def test_a_preemptor_sticks_to_the_head_until_its_victims_are_gone() -> None:
    """Higher priorities that come later do not pass a best-effort preemptor; victims stay charged."""
    played = play(
        a_queue("q", 2, within="LowerPriority"),
        a_holder("low", "q", 2, prio=-1),
        a_workload("new", "q", 2),
        rounds=3,
    )
    assert played.verdict("new") == ("preempting", "heap")
    assert played.victims("new") == {"low": "InClusterQueue"}


def test_untried_flavors_are_tried_in_the_next_round() -> None:
    """A head that lost its first flavor to another goes on with the next one."""
    one_each = {"uno": 1, "due": 1}
    played = play(
        a_flavor("uno"),
        a_flavor("due"),
        a_queue("a", one_each, "all"),
        a_queue("b", {"uno": 0, "due": 1}, "all"),
        a_holder("h", "b", 1, flavor="due"),
        a_workload("wa", "a", age=9),
        a_workload("wb", "b"),
        rounds=2,
    )
    assert played.admitted() == {"wa", "wb"}
    assert (played.flavor("wa"), played.flavor("wb")) == ("uno", "due")


def test_local_queue_record() -> None:
    """A LocalQueue without stop policy is not stopped."""
    assert not LocalQueue("ns", "lq", "q").stopped


@pytest.mark.parametrize(("quota", "counts"), [(4, [4]), (3, [3]), (2, [2]), (1, [])])
def test_the_least_size_is_tried_too(quota: int, counts: list[int]) -> None:
    """Partial admission goes down to minCount itself, and no further."""
    played = play(
        a_queue("q", quota), a_workload("new", "q", pod_sets=[pods(1, 4, 2)]), settings=PARTIAL
    )
    assert played.counts("new") == counts

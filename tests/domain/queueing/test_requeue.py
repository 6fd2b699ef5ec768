"""Where a workload waits after each outcome, and what wakes it."""

from typing import Any

import pytest

from hub.domain.queueing.eligibility import NAME_LABEL
from hub.domain.queueing.requeue import Outcome, Where, back_off, is_sticky, where_next
from tests.offline.build import (
    INSTANT,
    a_condition,
    a_holder,
    a_local_queue,
    a_queue,
    a_workload,
    engine_on,
    play,
    stamp,
)

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
    """Where a workload waits after each outcome, under both strategies."""
    assert where_next(outcome, strict=True) is strict
    assert where_next(outcome, strict=False) is best_effort


def test_b1_untried_flavors_and_wake_events() -> None:
    """With flavors left to try, or an event during the cycle, it goes back on the heap."""
    assert where_next(Outcome.NO_FIT, strict=False, untried_flavors=True) is Where.HEAP
    assert where_next(Outcome.NO_FIT, strict=False, woken=True) is Where.HEAP
    assert is_sticky(Outcome.PENDING_PREEMPTION, strict=False)
    assert not is_sticky(Outcome.PENDING_PREEMPTION, strict=True)


@pytest.mark.parametrize(
    ("selector", "requeue"), [({}, "heap"), ({"matchLabels": {"team": "x"}}, "parked")]
)
def test_b2_strict_fifo(selector: dict[str, Any], requeue: str) -> None:
    """A strict head that does not fit is back on the heap; only a namespace mismatch parks."""
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
    """Neither a namespace that does not match nor one whose time has not come gets what is free."""
    now, later = ({"requeueState": {"count": 1, "requeueAt": stamp(at)}} for at in (0, 1))
    off = [a_condition("Requeued", "Waits", status="False")]
    engine = engine_on(
        a_queue("q", 9, namespaceSelector={"matchLabels": {NAME_LABEL: "ns"}}),
        a_local_queue("q", "q", namespace="other"),
        a_holder("h", "q", 9),
        a_workload("match", "q", 3, age=9),
        a_workload("other", "q", 2, age=8, namespace="other"),
        a_workload("due", "q", 4, age=7, status=now),
        a_workload("later", "q", 1, age=6, status=later),
        a_workload("off", "q", 1, age=5, conditions=off),
    )
    first = [a.who.name for _ in range(4) for a in engine.round(INSTANT)]
    engine.quota_state.remove(engine.quota_state.holder("q", "h"))
    engine.waiting.wake("q")
    woken = {a.who.name: a.outcome for _ in range(4) for a in engine.round(INSTANT)}
    assert first == ["match", "other", "due"]
    assert woken == {"match": None, "other": Outcome.NAMESPACE_MISMATCH, "due": None}


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 60), (2, 120), (6, 1920), (7, 3600), (10**6, 3600)]
)
def test_a_back_off_doubles_up_to_its_cap(attempt: int, seconds: float) -> None:
    """60 s at first, an hour at most, however often it was tried."""
    assert back_off(attempt) == seconds
    assert back_off(attempt, base=120, cap=7200) == 2 * seconds


@pytest.mark.parametrize(("timestamp", "first"), [("Eviction", "w2"), ("Creation", "w1")])
def test_b4_eviction_by_timeout_moves_back(timestamp: str, first: str) -> None:
    """Workload w1 is older but was evicted by PodsReadyTimeout after w2 was created."""
    evicted = [a_condition("Evicted", "PodsReadyTimeout", since=-10)]
    played = play(
        a_queue("q", 1),
        a_workload("w1", "q", age=100, conditions=evicted),
        a_workload("w2", "q", age=50),
        settings={"waitForPodsReady": {"requeuingStrategy": {"timestamp": timestamp}}},
    )
    assert played.admitted() == {first}

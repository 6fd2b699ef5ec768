"""Classical preemption: who must go, and why."""

from typing import Any

import pytest

from tests.offline.build import Q, a_cohort, a_condition, a_holder, a_queue, a_workload, play


def test_p1_what_was_not_needed_is_given_back() -> None:
    """Low is removed first, then mid; with mid gone low is not needed any more."""
    played = play(
        a_queue("q", 6, within="LowerPriority"),
        a_holder("low", "q", 1, prio=-1),
        a_holder("mid", "q", 2),
        a_holder("high", "q", 3, prio=1),
        a_workload("new", "q", 2, prio=1),
    )
    assert played.verdict("new") == ("preempting", "heap")
    assert played.victims("new") == {"mid": "InClusterQueue"}


_P: dict[str, Any] = {"within": "LowerPriority", "reclaim": "LowerPriority"}


def test_p2_quota_is_reclaimed_from_a_borrower() -> None:
    """A queue (c1) takes its quota back from c2's lower priority rather than from its own."""
    played = play(
        a_queue("c1", Q(6, 6), "all", **_P),
        a_queue("c2", Q(6, 6), "all", reclaim="LowerPriority"),
        a_holder("c1-low", "c1", 3, prio=-1),
        a_holder("c2-mid", "c2", 3),
        a_holder("c2-high", "c2", 6, prio=1),
        a_workload("new", "c1", 3, prio=1),
    )
    assert played.victims("new") == {"c2-mid": "InCohortReclamation"}


def test_p3_nobody_is_preempted_for_borrowed_quota() -> None:
    """With what it has the request would need borrowing, and borrowWithinCohort is off."""
    played = play(
        a_queue("c1", Q(6, 6), "all", **_P),
        a_queue("c2", Q(6, 6), "all", reclaim="LowerPriority"),
        a_holder("c1-high", "c1", 4, prio=1),
        a_holder("c2-low-1", "c2", 4, prio=-1),
        a_holder("c2-low-2", "c2", 4, prio=-1),
        a_workload("new", "c1", 4, prio=1),
    )
    assert played.victims("new") == {}
    assert played.verdict("new") == ("pending", "parked")


def test_who_has_used_up_its_quota_borrows_before_more_of_its_own_go() -> None:
    """Exactly at its nominal quota a queue reclaims nothing: what is free in the cohort counts."""
    played = play(
        a_queue("c1", 4, "all", **_P),
        a_queue("c2", 1, "all"),
        a_queue("c3", 2, "all"),
        *(a_holder(f"c1-{n}", "c1", 1, prio=-1) for n in range(4)),
        a_holder("c2-low", "c2", 2, prio=-1),
        a_workload("new", "c1", 2, prio=1),
    )
    assert list(played.victims("new").values()) == ["InClusterQueue"]


@pytest.mark.parametrize(("threshold", "victims"), [
    (None, {"c2-low-1": "InCohortReclaimWhileBorrowing"}),
    (-1, {"c2-low-1": "InCohortReclaimWhileBorrowing"}),
    (-2, {}),
])  # fmt: skip
def test_borrowing_while_preempting_up_to_a_threshold(
    threshold: int | None, victims: dict[str, str]
) -> None:
    """With borrowWithinCohort lower priorities up to the threshold go even for borrowed quota."""
    borrow: dict[str, object] = {"policy": "LowerPriority"}
    if threshold is not None:
        borrow["maxPriorityThreshold"] = threshold
    played = play(
        a_queue("c1", Q(6, 6), "all", borrow=borrow, **_P),
        a_queue("c2", Q(6, 6), "all"),
        a_holder("c1-high", "c1", 4, prio=1),
        a_holder("c2-low-1", "c2", 4, prio=-1, since=-10),
        a_holder("c2-low-2", "c2", 4, prio=-1, since=-20),
        a_workload("new", "c1", 4, prio=1),
    )
    assert played.victims("new") == victims


def test_p5_newer_equal_priority() -> None:
    """Of equals that were queued later, the one that reserved last goes."""
    played = play(
        a_queue("q", 6, within="LowerOrNewerEqualPriority"),
        a_holder("wl1", "q", 2, prio=2, since=0),
        a_holder("wl2", "q", 2, prio=1, since=1, age=0),
        a_holder("wl3", "q", 2, prio=1, since=0, age=0),
        a_workload("new", "q", 2, prio=1, age=15),
    )
    assert played.victims("new") == {"wl2": "InClusterQueue"}


def test_an_older_equal_is_not_preempted() -> None:
    """LowerOrNewerEqualPriority spares equals that were queued before the preemptor."""
    played = play(
        a_queue("q", 2, within="LowerOrNewerEqualPriority"),
        a_holder("old", "q", 2, age=60),
        a_workload("new", "q", 2, age=15),
    )
    assert played.verdict("new") == ("pending", "parked")


def _lenders() -> list[Any]:
    return [
        a_queue("lend1", Q(6, None, 4), "all", **_P),
        a_queue("lend2", Q(6, None, 2), "all", **_P),
    ]


def test_p8_reclaim_under_lending_limits() -> None:
    """Queue lend1 has three of its own left, which lend2's mid holds."""
    played = play(
        *_lenders(),
        a_holder("lend1-low", "lend1", 3, prio=-1),
        a_holder("lend2-mid", "lend2", 3),
        a_holder("lend2-high", "lend2", 4, prio=1),
        a_workload("new", "lend1", 3, prio=1),
    )
    assert played.victims("new") == {"lend2-mid": "InCohortReclamation"}


def test_p9_more_than_can_ever_be_had() -> None:
    """Six of its own and two that are lent are eight: nine preempt nobody."""
    played = play(
        *_lenders(),
        a_holder("lend2-low", "lend2", 10, prio=-1),
        a_workload("new", "lend1", 9),
    )
    assert played.verdict("new") == ("pending", "parked")
    assert played.of("new")["reason"] == "ExceedsMaxQuota"


def test_h1_hierarchical_advantage_goes_before_priority() -> None:
    """The quota is cohort c's own: who borrows it from outside goes, whatever its priority."""
    played = play(
        a_cohort("root"),
        a_cohort("c", 2, "root"),
        a_queue("q", 0, "c", reclaim="Any", within="LowerPriority"),
        a_queue("qb", 0, "root"),
        a_holder("b1", "qb", 1, prio=1),
        a_holder("own", "q", 1, prio=-2),
        a_workload("new", "q", 1),
    )
    assert played.victims("new") == {"b1": "InCohortReclamation"}


def test_queues_within_their_quota_are_spared() -> None:
    """Reclaim stops at a queue that has meanwhile dropped inside its quota."""
    played = play(
        a_queue("a", 4, "all", reclaim="Any"),
        a_queue("b", 2, "all"),
        a_queue("c", 2, "all"),
        a_holder("b1", "b", 2, prio=-9, since=-1),
        a_holder("b2", "b", 2, prio=-9, since=-2),
        a_holder("c1", "c", 2, since=-3),
        a_holder("c2", "c", 2, since=-4),
        a_workload("new", "a", 4),
    )
    assert set(played.victims("new")) == {"b1", "c1"}


def test_those_already_evicted_go_first() -> None:
    """A workload that is being evicted anyway is preferred to a live one of lower priority."""
    played = play(
        a_queue("q", 4, within="LowerPriority"),
        a_holder("leaving", "q", 2, prio=5, evicted=True),
        a_holder("low", "q", 2, prio=-5),
        a_workload("new", "q", 2, prio=9),
    )
    assert played.victims("new") == {"leaving": "InClusterQueue"}


def test_a_closed_gate_stops_preemption() -> None:
    """A workload whose preemption gate is closed waits, parked, and evicts nobody."""
    played = play(
        a_queue("q", 2, within="LowerPriority"),
        a_holder("low", "q", 2, prio=-1),
        a_workload("new", "q", 2, preemptionGates=[{"name": "gate"}]),
    )
    assert played.verdict("new") == ("pending", "parked")
    assert played.victims("new") == {}


@pytest.mark.parametrize(("budget", "victims"), [(1, 0), (2, 2)])
def test_a_budget_bounds_the_victims_of_one_preemption(budget: int, victims: int) -> None:
    """A preemption that needs more victims than maxPreemptedWorkloads does not happen."""
    played = play(
        a_queue("q", 2, within="LowerPriority"),
        a_holder("low-1", "q", 1, prio=-1),
        a_holder("low-2", "q", 1, prio=-1),
        a_workload("new", "q", 2),
        settings={"preemption": {"maxPreemptedWorkloads": budget}},
    )
    assert len(played.victims("new")) == victims


@pytest.mark.parametrize(("budget", "said"), [(1, "it takes 2 preempted workloads"), (None, "")])
def test_where_only_the_budget_forbids_it_the_message_says_so(
    budget: int | None, said: str
) -> None:
    """The message names the budget, not a lack of candidates."""
    played = play(
        a_queue("q", 2, within="LowerPriority" if budget else "Never"),
        a_holder("low-1", "q", 1, prio=-1),
        a_holder("low-2", "q", 1, prio=-1),
        a_workload("new", "q", 2),
        settings={"preemption": {"maxPreemptedWorkloads": budget}} if budget else None,
    )
    assert (said or "no workload may be preempted for it") in played.of("new")["message"]


def test_non_preemptible_queues() -> None:
    """Queues declared non-preemptible lose nobody."""
    played = play(
        a_queue("q", 2, within="LowerPriority"),
        a_holder("low", "q", 2, prio=-1),
        a_workload("new", "q", 2),
        settings={"preemption": {"nonPreemptibleQueues": ["q"]}},
    )
    assert played.victims("new") == {}


@pytest.mark.parametrize(("ran", "goes"), [(29, False), (30, True), (None, True)])
def test_who_has_not_run_for_long_enough_is_spared(ran: float | None, goes: bool) -> None:
    """minimumRuntime counts from the admission; at its end, and without a start, a workload may go."""
    began = [] if ran is None else [a_condition("Admitted", "Admitted", since=-ran)]
    played = play(
        a_queue("q", 2, within="LowerPriority"),
        a_holder("low", "q", 2, prio=-1, conditions=began),
        a_workload("new", "q", 2),
        settings={"preemption": {"minimumRuntime": "30s"}},
    )
    assert bool(played.victims("new")) == goes


def test_equals_queued_at_the_same_time_spare_each_other() -> None:
    """LowerOrNewerEqualPriority takes only equals that were queued later, or both would go in turn."""
    played = play(
        a_queue("q", 2, within="LowerOrNewerEqualPriority"),
        a_holder("twin", "q", 2, age=15),
        a_workload("new", "q", 2, age=15),
    )
    assert played.victims("new") == {}
    assert played.verdict("new") == ("pending", "parked")

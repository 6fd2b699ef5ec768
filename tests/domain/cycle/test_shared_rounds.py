"""Several heads in one cycle: order, races, reservation."""

from dataclasses import replace

import pytest

from hub.domain.quota.declared import FlavorResource, Quota
from tests.domain.build import (
    a_demand,
    a_lane,
    a_pod_set,
    a_queue as a_domain_queue,
    decide,
    where,
)
from tests.domain.whatif.pictures import LOWER, a_holder as pictured, a_picture
from tests.offline.build import Q, a_holder, a_queue, a_workload, play


@pytest.mark.parametrize(
    ("asked", "verdict"), [(56, ("skipped", "heap")), (55, ("admitted", None))]
)
def test_c1_a_borrower_comes_after_those_within_quota(
    asked: int, verdict: tuple[str, str | None]
) -> None:
    """A within its quota goes first; what B needs beyond the rest is skipped, back on the heap."""
    played = play(
        a_queue("a", Q(50, 50), "all"),
        a_queue("b", Q(50, 10), "all"),
        a_workload("wa", "a", 45),
        a_workload("wb", "b", asked),
    )
    assert played.verdict("wa") == ("admitted", None)
    assert played.verdict("wb") == verdict


def test_c2_higher_priority_borrows_first() -> None:
    """Of two that borrow as much, the higher priority is admitted; the other stays active."""
    played = play(
        *(a_queue(name, Q(10, 10), "all") for name in "abc"),
        a_workload("first", "a", 16, prio=-1),
        a_workload("second", "b", 16, prio=-2),
    )
    assert played.verdict("first") == ("admitted", None)
    assert played.verdict("second") == ("skipped", "heap")


def test_c4_who_can_always_reclaim_reserves_nothing() -> None:
    """A head without candidates whose queue reclaims Any leaves the capacity to borrowers."""
    gpu = "nvidia.com/gpu"
    played = play(
        a_queue("a", 2, "all", resource=gpu, reclaim="Any"),
        a_queue("b", 0, "all", resource=gpu),
        a_holder("a1", "a", 1, resource=gpu),
        a_workload("wa", "a", 2, resource=gpu),
        a_workload("wb", "b", 1, resource=gpu),
    )
    assert played.verdict("wa") == ("pending", "parked")
    assert played.verdict("wb") == ("admitted", None)


def test_a_head_without_candidates_keeps_its_quota_from_borrowers() -> None:
    """Step 5c: where reclaimWithinCohort is not Any, the head reserves what is its own."""
    played = play(
        a_queue("a", 2, "all"),
        a_queue("b", 0, "all"),
        a_holder("a1", "a", 1),
        a_workload("wa", "a", 2, prio=1),
        a_workload("wb", "b", 1),
    )
    assert played.verdict("wa") == ("pending", "parked")
    assert played.verdict("wb") == ("skipped", "heap")


def test_c6_no_preemption_beyond_nominal() -> None:
    """Three are more than the nominal two: without borrowWithinCohort nobody is preempted."""
    played = play(
        a_queue("a", 2, "all", reclaim="Any", within="LowerPriority"),
        a_queue("b", 2, "all"),
        a_holder("a1", "a", 1, prio=-1),
        a_holder("b1", "b", 1, prio=-1),
        a_workload("new", "a", 3, prio=1),
    )
    assert played.verdict("new") == ("pending", "parked")
    assert played.victims("new") == {}


def test_c8_disjoint_preemptions_in_one_cycle() -> None:
    """Two heads with victims of their own both preempt in the same cycle."""
    played = play(
        a_queue("alpha", 2, "all", within="LowerPriority"),
        a_queue("beta", 2, "all", within="LowerPriority"),
        a_holder("a1", "alpha", 2),
        a_holder("b1", "beta", 2),
        a_workload("new-a", "alpha", 2, prio=100),
        a_workload("new-b", "beta", 2, prio=100),
    )
    assert played.victims("new-a") == {"a1": "InClusterQueue"}
    assert played.victims("new-b") == {"b1": "InClusterQueue"}
    assert played.verdict("new-a") == played.verdict("new-b") == ("preempting", "heap")


def test_overlapping_victims_are_preempted_once() -> None:
    """Step 5e: a head whose only victims are another's already is skipped, back on the heap."""
    played = play(
        a_queue("a", 4, "all", reclaim="Any"),
        a_queue("b", 4, "all", reclaim="Any"),
        a_queue("c", 0, "all"),
        a_holder("c1", "c", 8),
        a_workload("wa", "a", 4, age=10),
        a_workload("wb", "b", 4, age=5),
    )
    assert played.victims("wa") == {"c1": "InCohortReclamation"}
    assert played.verdict("wb") == ("skipped", "heap")


def test_a_queue_without_cohort_has_no_share_in_others() -> None:
    """Queues of different trees neither lend nor wait for each other."""
    played = play(
        a_queue("a", 1),
        a_queue("b", 5),
        a_workload("wa", "a", 2),
        a_workload("wb", "b", 5),
    )
    assert played.verdict("wa") == ("pending", "parked")
    assert played.of("wa")["reason"] == "ExceedsMaxQuota"
    assert played.verdict("wb") == ("admitted", None)


def test_one_cycle_goes_on_until_a_strict_head_has_scanned_anew() -> None:
    """The head that lost flavor f0 to another queue preempts in the same cycle, and has no false reason."""
    queues = [
        replace(a_domain_queue(name=n, strict=True, flavors=("f0", "f1"), cpu=3), cohort="all")
        for n in ("s0", "s1")
    ]
    empty = {FlavorResource("f1", "cpu"): Quota(0)}
    queues = [replace(q, quotas={**q.quotas, **empty}) for q in queues]
    picture = a_picture(
        [pictured("low", 1, "s0", flavor="f0", priority=-1)], *queues,
        lanes=[a_lane(a_demand(a_pod_set(requests={"cpu": 3}), queue=n), n) for n in ("s0", "s1")],
        policies=dict.fromkeys(("s0", "s1"), LOWER),
    )  # fmt: skip
    plan = decide(picture)
    assert [(e.uid, e.by) for e in plan.evictions] == [("low", "s0")]
    assert where(plan) == {"s1": "c"}
    assert plan.refusals == ()

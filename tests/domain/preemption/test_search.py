"""Which candidates are taken, in which order, and on which ground, worked by hand."""

from typing import Any

import pytest

from hub.domain.quota.declared import FlavorResource
from tests.offline.build import (
    FAIR,
    a_cohort,
    a_holder,
    a_local_queue,
    a_queue,
    a_workload,
    engine_on,
    play,
    pods,
)


def test_reclaim_leaves_alone_whoever_came_inside_quota() -> None:
    """A foreign candidate is skipped once its queue is inside its quota again."""
    # l1 holds 4 of 2, l2 holds 3 of 2, r1 none of its 4; one of eight is free: three must go.
    played = play(
        a_cohort("root"), a_cohort("left", parent="root"), a_cohort("right", parent="root"),
        a_queue("l1", 2, "left"), a_queue("l2", 2, "left"),
        a_queue("r1", 4, "right", reclaim="Any"),
        [a_holder(f"l1-{n}", "l1", 1, since=-10 - n) for n in range(4)],
        [a_holder(f"l2-{n}", "l2", 1, since=-n) for n in range(3)],
        a_workload("w", "r1", 4),
    )  # fmt: skip
    # l2-0 is the most recent; then l2 holds two of two. l1-0 and l1-1 follow.
    assert set(played.victims("w")) == {"l2-0", "l1-0", "l1-1"}
    assert set(played.victims("w").values()) == {"InCohortReclamation"}


def test_whoever_is_going_already_goes_first() -> None:
    """Evicted candidates of any class come before live ones of any."""
    played = play(
        a_queue("a", 4, "all", within="LowerPriority", reclaim="Any"),
        a_queue("b", 4, "all"),
        a_holder("going", "a", 2, prio=-1, evicted=True),
        a_holder("b1", "b", 6, prio=-9),
        a_workload("w", "a", 2),
    )
    assert played.victims("w") == {"going": "InClusterQueue"}


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        (0, {"low": "InCohortReclaimWhileBorrowing"}),  # at the threshold
        (1, {}),  # above it: only without borrowing, and four are more than a has
    ],
)
def test_borrowing_within_a_cohort_up_to_the_threshold(
    priority: int, expected: dict[str, Any]
) -> None:
    """borrowWithinCohort preempts while borrowing only up to maxPriorityThreshold."""
    borrow = {"policy": "LowerPriority", "maxPriorityThreshold": 0}
    played = play(
        a_queue("a", 2, "all", reclaim="LowerPriority", borrow=borrow),
        a_queue("b", 6, "all"),
        a_holder("low", "b", 4, prio=priority),
        a_holder("high", "b", 4, prio=1),
        a_workload("w", "a", 4, prio=10),
    )
    assert played.victims("w") == expected


def test_above_the_threshold_inside_nominal() -> None:
    """Candidates above the threshold are there for a request that needs no borrowing."""
    borrow = {"policy": "LowerPriority", "maxPriorityThreshold": 0}
    played = play(
        a_queue("a", 4, "all", reclaim="LowerPriority", borrow=borrow),
        a_queue("b", 4, "all"),
        a_holder("high", "b", 8, prio=1),
        a_workload("w", "a", 4, prio=10),
    )
    assert played.victims("w") == {"high": "InCohortReclamation"}


def test_equal_priority_is_no_lower_priority_while_borrowing() -> None:
    """reclaim Any reaches equals, borrowing does not: without borrowing four are too many."""
    played = play(
        a_queue("a", 2, "all", reclaim="Any", borrow={"policy": "LowerPriority"}),
        a_queue("b", 6, "all"),
        a_holder("b1", "b", 8, prio=5),
        a_workload("w", "a", 4, prio=5),
    )
    assert played.victims("w") == {}
    assert played.verdict("w") == ("pending", "parked")


def test_own_queue_while_borrowing() -> None:
    """With nobody to reclaim from, its own lower priorities go although it borrows."""
    played = play(
        a_queue("a", 2, "all", within="LowerPriority"),
        a_queue("b", 4, "all"),
        a_holder("a1", "a", 3, prio=-1),
        a_holder("b1", "b", 3),
        a_workload("w", "a", 2),
    )
    assert played.victims("w") == {"a1": "InClusterQueue"}


def test_nothing_is_preempted_that_would_not_suffice() -> None:
    """Where all candidates together do not make room, none is touched."""
    played = play(
        a_queue("a", 4, "all", within="LowerPriority", reclaim="LowerPriority"),
        a_queue("b", 2, "all"),
        a_holder("a1", "a", 1, prio=-1),
        a_holder("a2", "a", 3, prio=9),
        a_holder("b1", "b", 2, prio=-1),
        a_workload("w", "a", 3),
    )
    assert played.victims("w") == {}


def test_a_whole_small_set_rather_than_one_needless_large() -> None:
    """Fill-back goes from the second-last taken to the first: what is not needed is given back."""
    # taken by priority: s1, s2, s3 (1 each), then big (4): with big gone s3, s2, s1 come back
    small = [a_holder(f"s{n}", "q", 1, prio=-4 + n) for n in (1, 2, 3)]
    played = play(
        a_queue("q", 7, within="LowerPriority"),
        small,
        a_holder("big", "q", 4, prio=0),
        a_workload("w", "q", 4, prio=1),
    )
    assert played.victims("w") == {"big": "InClusterQueue"}


def _history(name: str, used: int, queue: str) -> dict[str, Any]:
    consumed = {"consumedResources": {"cpu": str(used)}, "lastUpdate": "2026-01-01T00:00:00Z"}
    status = {"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": consumed}}
    return a_local_queue(name, queue, status=status)


def test_the_local_queue_that_used_more_gives_first() -> None:
    """2.7: among victims of one queue the higher usage goes first, before the lower priority."""
    by_usage: dict[str, Any] = {
        "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}
    }
    settings = {"admissionFairSharing": {"usageHalfLifeTime": "1h"}}
    holders = [
        a_holder("of-much", "b", 4, prio=1, local_queue="much"),
        a_holder("of-little", "b", 4, prio=0, local_queue="little"),
    ]
    histories = [_history("much", 10, "b"), _history("little", 5, "b")]
    own = play(
        a_queue("b", 8, within="LowerPriority", **by_usage), histories, holders,
        a_workload("w", "b", 4, prio=2), settings=settings,
    )  # fmt: skip
    assert own.victims("w") == {"of-much": "InClusterQueue"}
    foreign = play(
        a_queue("a", 4, "all", reclaim="Any"), a_queue("b", 4, "all", **by_usage),
        histories, holders, a_workload("w", "a", 4, prio=2), settings=settings,
    )  # fmt: skip
    assert foreign.victims("w") == {"of-much": "InCohortReclamation"}


def test_a_request_of_nothing_needs_no_room() -> None:
    """A resource asked for in quantity zero counts neither as borrowing nor as lack."""
    gpu = "nvidia.com/gpu"
    played = play(
        a_queue("alpha", {"default": {"cpu": 4, gpu: 0}}, "all", reclaim="Any"),
        a_queue("beta", {"default": {"cpu": 0, gpu: 2}}, "all"),
        a_holder("a1", "alpha", 1, resource=gpu),
        a_holder("b1", "beta", 4),
        a_workload("w", "alpha", pod_sets=[pods({"cpu": "2", gpu: "0"})]),
    )
    assert played.victims("w") == {"b1": "InCohortReclamation"}


def test_who_has_given_everything_back_is_no_victim() -> None:
    """A pod set all of whose pods were reclaimed holds nothing that could be taken."""
    given_back = a_holder("done", "b", 4)
    given_back["status"]["reclaimablePods"] = [{"name": "main", "count": 1}]
    engine = engine_on(a_queue("b", 4, "all"), given_back)
    (holder,) = engine.quota_state.holders("b")
    assert not holder.uses([FlavorResource("default", "cpu")])


@pytest.mark.parametrize("settings", [{}, FAIR])
@pytest.mark.parametrize(
    "idle",
    [
        {"stopPolicy": "Hold"},
        {"groups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": "default", "resources": [{"name": "cpu", "nominalQuota": "0"}]},
            {"name": "nowhere", "resources": [{"name": "cpu", "nominalQuota": "0"}]},
        ]}]},
    ],
    ids=["stopped", "misconfigured"],
)  # fmt: skip
def test_inactive_queues_lose_nobody(idle: dict[str, Any], settings: dict[str, Any]) -> None:
    """Workloads of a stopped or misconfigured ClusterQueue are no victims of others."""
    played = play(
        a_queue("alpha", 2, "all", reclaim="Any"),
        a_queue("beta", 0, "all", **idle),
        a_holder("b1", "beta", 2),
        a_workload("w", "alpha", 2),
        settings=settings,
    )
    assert played.victims("w") == {}
    assert played.verdict("w") == ("pending", "parked")

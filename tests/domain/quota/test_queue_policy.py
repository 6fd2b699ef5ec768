"""What a ClusterQueue's spec says of preemption, the search for flavors, checks and history."""

import pytest

from hub.domain.quota.queue_policy import QueuePolicy, read_policy


def test_what_is_absent_has_kueues_default() -> None:
    """Nobody is preempted; borrowing stops the search, preemption does not."""
    assert read_policy(None) == read_policy({}) == QueuePolicy()
    default = QueuePolicy()
    assert (default.within, default.reclaim, default.borrow_within) == ("Never",) * 3
    assert (default.when_can_borrow, default.when_can_preempt) == (
        "MayStopSearch",
        "TryNextFlavor",
    )


def test_a_spec_is_read_field_by_field() -> None:
    """Each from its own place."""
    spec = {
        "preemption": {
            "withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 0},
        },
        "flavorFungibility": {
            "whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch",
            "preference": "PreemptionOverBorrowing",
        },
        "admissionChecksStrategy": {
            "admissionChecks": [{"name": "a"}, {"name": "b", "onFlavors": ["x", "y"]}]
        },
        "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
    }  # fmt: skip
    assert read_policy(spec) == QueuePolicy(
        "LowerPriority", "Any", "LowerPriority", 0, "TryNextFlavor", "MayStopSearch",
        "PreemptionOverBorrowing", (("a", frozenset()), ("b", frozenset({"x", "y"}))), by_usage=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flavors", "names"), [(set(), ("a",)), ({"z"}, ("a",)), ({"x", "z"}, ("a", "b"))]
)
def test_checks_of_the_flavors_that_are_assigned(
    flavors: set[str], names: tuple[str, ...]
) -> None:
    """One that names no flavor is always required; another where any of its flavors is used."""
    policy = QueuePolicy(checks=(("a", frozenset()), ("b", frozenset({"x", "y"}))))
    assert policy.required_checks(frozenset(flavors)) == names


@pytest.mark.parametrize("borrows", [False, True])
@pytest.mark.parametrize("preempts", [False, True])
@pytest.mark.parametrize("borrow", ["MayStopSearch", "TryNextFlavor"])
@pytest.mark.parametrize("preempt", ["MayStopSearch", "TryNextFlavor"])
def test_the_search_goes_on_after_what_is_not_wished_for(
    borrow: str, preempt: str, *, borrows: bool, preempts: bool
) -> None:
    """Past a flavor that preempts, or borrows, where the rule of that says TryNextFlavor."""
    policy = QueuePolicy(when_can_borrow=borrow, when_can_preempt=preempt)
    expected = (borrows and borrow == "TryNextFlavor") or (preempts and preempt == "TryNextFlavor")
    assert policy.tries_next(borrows=borrows, preempts=preempts) is expected


@pytest.mark.parametrize(
    ("within", "reclaim", "preempts"),
    [("Never", "Never", False), ("LowerPriority", "Never", True), ("Never", "Any", True)],
)
def test_who_may_displace_anybody(within: str, reclaim: str, *, preempts: bool) -> None:
    """In its own queue or in others."""
    assert QueuePolicy(within, reclaim).preempts is preempts

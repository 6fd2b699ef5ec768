"""Whether a placement may lose a cluster now: KubeFleet's arithmetic and its words."""

import pytest

from hub.domain.rollout.disruption import (
    EXECUTED,
    INVALID,
    NOT_EXECUTED,
    VALID,
    BoundCluster,
    DisruptionBudget,
    EvictedPlacement,
    may_evict,
)

GONE = BoundCluster(available=False)


def of(
    wanted: int, available: int, policy: str = "PickN", bound: int | None = None
) -> EvictedPlacement:
    """Clusters c0, c1, …: the first `available` are; the others are not."""
    bound = wanted if bound is None else bound
    clusters = {f"c{at}": BoundCluster() if at < available else GONE for at in range(bound)}
    return EvictedPlacement("ClusterResourcePlacement", policy, wanted, clusters)


@pytest.mark.parametrize(
    ("placement", "budget", "allowed"),
    [
        (of(3, 3), None, True),
        (of(3, 3), DisruptionBudget(min_available="50%"), True),  # the reference's example
        (of(3, 2), DisruptionBudget(min_available="50%"), False),
        (of(3, 3), DisruptionBudget(min_available="80%"), False),
        (of(3, 3), DisruptionBudget(min_available=2), True),
        (of(3, 3), DisruptionBudget(min_available=3), False),
        (of(3, 3), DisruptionBudget(min_available=0), True),
        (of(3, 3), DisruptionBudget(max_unavailable=1), True),
        (of(3, 2), DisruptionBudget(max_unavailable=1), False),
        (of(3, 2), DisruptionBudget(max_unavailable="34%"), True),
        (of(3, 3), DisruptionBudget(max_unavailable="10%"), True),
        (of(3, 3), DisruptionBudget(max_unavailable=0), False),
        (of(3, 3), DisruptionBudget(max_unavailable="0%"), False),
        (of(5, 3, bound=3), DisruptionBudget(min_available="50%"), False),  # of those wanted
        (of(5, 5, "PickAll"), DisruptionBudget(min_available=4), True),
        (of(5, 5, "PickAll"), DisruptionBudget(min_available=5), False),
        (of(5, 5, "PickAll"), DisruptionBudget(min_available="20%"), False),
        (of(5, 5, "PickAll"), DisruptionBudget(max_unavailable=5), False),
        (of(5, 5), DisruptionBudget(), False),
    ],
)
def test_a_budget_allows_so_many(
    placement: EvictedPlacement, budget: DisruptionBudget | None, allowed: bool
) -> None:
    """Percents are of the wanted, rounded up; a PickAll's budget is a number that stays."""
    verdict = may_evict(placement, "c0", budget)
    assert (verdict.valid, verdict.allowed) == (True, allowed)
    assert verdict.valid_condition == (VALID, "Eviction is valid")
    assert verdict.executed_reason == (EXECUTED if allowed else NOT_EXECUTED)


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        (EvictedPlacement("ResourcePlacement", found=False), "Failed to find ResourcePlacement"),
        (EvictedPlacement("ResourcePlacement", deleting=True), "Found deleting ResourcePlacement"),
        (of(1, 1, "PickFixed"), "with PickFixed placement type"),
        (of(0, 0), "Failed to find scheduler decision"),
    ],
)
def test_what_can_not_be_asked_is_invalid(placement: EvictedPlacement, words: str) -> None:
    """Placement missing or deleting, clusters that are listed, a cluster that it does not have."""
    verdict = may_evict(placement, "c0", None)
    assert (verdict.valid, verdict.allowed, verdict.condition_reason) == (False, False, INVALID)
    assert words in verdict.message
    assert verdict.valid_condition == (INVALID, verdict.message)


@pytest.mark.parametrize(
    ("bound", "allowed", "words"),
    [
        (BoundCluster(leaving=True), True, "currently being removed"),
        (BoundCluster(given=False, available=False), False, "not propagated resources"),
        (BoundCluster(given=False, available=False, jobs=2), True, "2 Job(s)"),
        (BoundCluster(available=False), True, "placement has failed"),
    ],
)
def test_a_budget_is_not_asked_where_nothing_is_lost(
    bound: BoundCluster, allowed: bool, words: str
) -> None:
    """What goes already, what is not there yet, Jobs, and what never was available."""
    placement = EvictedPlacement("ClusterResourcePlacement", "PickN", 1, {"c0": bound})
    verdict = may_evict(placement, "c0", DisruptionBudget(min_available=1))
    assert (verdict.valid, verdict.allowed) == (True, allowed)
    assert words in verdict.message


def test_one_that_leaves_is_a_binding_and_not_available() -> None:
    """So the last of a budget is not spent twice while the first still lets go."""
    clusters = {"c0": BoundCluster(leaving=True), "c1": BoundCluster(), "c2": BoundCluster()}
    placement = EvictedPlacement("ClusterResourcePlacement", "PickN", 3, clusters)
    for budget in (DisruptionBudget(max_unavailable=1), DisruptionBudget(min_available=2)):
        assert not may_evict(placement, "c1", budget).allowed


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (DisruptionBudget(min_available="50%"), "availablePlacements: 3, totalPlacements: 3"),
        (DisruptionBudget(min_available="50%"), "minAvailable is 2, 50% of 3"),
        (DisruptionBudget(max_unavailable=0), "Eviction is blocked by specified"),
        (DisruptionBudget(), "neither MaxUnavailable nor MinAvailable"),
    ],
)
def test_a_verdict_names_budget_and_numbers(budget: DisruptionBudget, words: str) -> None:
    """In KubeFleet's words first, then what the numbers were made of."""
    assert words in may_evict(of(3, 3), "c0", budget).message

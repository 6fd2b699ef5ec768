"""Whether a placement may lose a cluster now."""

import pytest

from hub.domain.rollout.disruption import Bindings, DisruptionBudget, may_evict


def n(wanted: int, bound: int, available: int, policy: str = "PickN") -> Bindings:
    return Bindings(policy, wanted, bound, available)


@pytest.mark.parametrize(
    ("bindings", "budget", "allowed"),
    [
        (n(3, 3, 3), None, True),
        (n(3, 3, 3), DisruptionBudget(min_available="50%"), True),  # the reference's example
        (n(3, 3, 2), DisruptionBudget(min_available="50%"), False),
        (n(3, 3, 3), DisruptionBudget(min_available=3), False),
        (n(3, 3, 3), DisruptionBudget(max_unavailable=1), True),
        (n(3, 3, 2), DisruptionBudget(max_unavailable=1), False),
        (n(3, 3, 2), DisruptionBudget(max_unavailable="34%"), True),
        (n(3, 3, 3), DisruptionBudget(max_unavailable=0), False),
        (n(5, 5, 5, "PickAll"), DisruptionBudget(min_available=4), True),
        (n(5, 5, 5, "PickAll"), DisruptionBudget(min_available=5), False),
        (n(5, 5, 5, "PickAll"), DisruptionBudget(min_available="20%"), False),
        (n(5, 5, 5, "PickAll"), DisruptionBudget(max_unavailable=5), False),
    ],
)
def test_a_budget_allows_so_many(
    bindings: Bindings, budget: DisruptionBudget | None, allowed: bool
) -> None:
    """Percents are of the wanted, rounded up; a PickAll's budget is a number that stays."""
    verdict = may_evict(bindings, budget, available=True)
    assert (verdict.valid, verdict.allowed) == (True, allowed)
    assert (
        str(bindings.available) in verdict.message
        or budget is None
        or "PickAll" in verdict.message
    )


def test_what_is_not_available_may_always_go():
    """There is nothing to lose."""
    assert may_evict(n(3, 3, 0), DisruptionBudget(min_available=3), available=False).allowed


def test_pick_fixed_is_changed_by_its_list():
    """An eviction would be undone at once."""
    verdict = may_evict(n(1, 1, 1, "PickFixed"), None, available=True)
    assert (verdict.valid, verdict.allowed) == (False, False)
    assert "its list" in verdict.message

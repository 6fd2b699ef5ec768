"""The share of a queue: the dominant resource of what it borrows, by its weight."""

import pytest

from tests.offline.build import FAIR, Q, a_flavor, a_holder, a_queue, a_workload, play

GPU = "nvidia.com/gpu"


def test_f10_the_dominant_resource_counts() -> None:
    """Of cpu 1/10 and gpu 2/10 borrowed, gpu is dominant: 200."""
    quota = {"default": {"cpu": 2, GPU: 5}}
    lender = {"default": {"cpu": 8, GPU: 5}}
    played = play(
        a_queue("q", quota, "all"),
        a_queue("lender", lender, "all"),
        a_holder("h", "q", {"cpu": "3", GPU: "7"}),
    )
    assert played.share("q") == 200


@pytest.mark.parametrize(("weight", "share"), [(2, 100), ("0.5", 400), (0, 2**63 - 1)])
def test_f10_weights(weight: object, share: int) -> None:
    """2 of 10 lendable borrowed; a share is divided by the weight, by zero it is infinite."""
    played = play(
        a_queue("q", 5, "all", resource=GPU, weight=weight),
        a_queue("lender", 5, "all", resource=GPU),
        a_holder("h", "q", 7, resource=GPU),
    )
    assert played.share("q") == share


def test_f11_shares_are_summed_over_flavors() -> None:
    """5 of 200 CPUs borrowed, over all flavors of the tree: 25."""
    played = play(
        a_flavor("on-demand"), a_flavor("spot"), a_flavor("other"),
        a_queue("q", {"on-demand": 20, "spot": 80}, "all"),
        a_queue("lender", {"other": 100}, "all"),
        a_holder("h1", "q", 15, flavor="on-demand"),
        a_holder("h2", "q", 10, flavor="on-demand"),
        a_holder("h3", "q", 5, flavor="spot"),
    )  # fmt: skip
    assert played.share("q") == 25


def test_who_uses_more_than_its_quota_borrows_though_nothing_is_lent() -> None:
    """Whether a queue borrows is a question of its usage, not of its share: that of nothing lent is zero."""
    played = play(
        a_queue("alpha", Q(2, None, 0), "all", reclaim="Any"), a_queue("beta", 0, "all"),
        a_holder("b1", "beta", 2), a_workload("w", "alpha", 2), settings=FAIR,
    )  # fmt: skip
    assert played.share("beta") == 0
    assert played.victims("w") == {"b1": "InCohortReclamation"}


def test_weight_zero_is_infinite_though_nothing_is_lent() -> None:
    """A queue of weight zero that borrows has an infinite share, whatever could be lent to it."""
    played = play(
        a_queue("alpha", Q(2, None, 0), "all"), a_queue("beta", 0, "all", weight=0),
        a_holder("b1", "beta", 2),
    )  # fmt: skip
    assert played.share("beta") == 2**63 - 1


def test_a_flavor_taken_out_of_the_queue_is_no_borrowing() -> None:
    """Only flavors that a queue declares count in its share."""
    played = play(
        a_flavor("old"), a_flavor("new"),
        a_queue("alpha", {"old": 4, "new": 4}, "all"), a_queue("beta", {"new": 0}, "all"),
        a_holder("b1", "beta", 2, flavor="old"),
    )  # fmt: skip
    assert played.share("beta") == 0

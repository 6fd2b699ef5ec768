"""Fair sharing: shares, the tournament, and preemption by share (queueing 2.3, rows F1-F13)."""

from typing import Any

import pytest

from tests.queueing.build import FAIR, Q, a_cohort, a_flavor, a_holder, a_queue, a_workload, play

_POLICY: dict[str, Any] = {"within": "LowerPriority", "reclaim": "Any"}
FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


def _three(weight_of_a: object = None) -> list[Any]:
    return [
        a_queue("a", 3, "all", weight=weight_of_a, **_POLICY),
        a_queue("b", 3, "all", **_POLICY),
        a_queue("c", 3, "all", **_POLICY),
    ]


def _units(queue: str, count: int, first: int = 1) -> list[Any]:
    return [a_holder(f"{queue}{n}", queue, 1, since=-n) for n in range(first, first + count)]


def test_f1_within_nominal_reclaims() -> None:
    """F1: c within its nominal takes from b, who borrows most: a reclamation."""
    played = play(
        _three(), _units("a", 3), _units("b", 5), _units("c", 1), a_workload("new", "c"),
        settings=FAIR,
    )  # fmt: skip
    assert played.victims("new") == {"b1": "InCohortReclamation"}


def test_f2_a_smaller_share_takes_from_a_larger() -> None:
    """F2: with the new one a would still have less than b."""
    played = play(
        _three(), _units("a", 3), _units("b", 5), _units("c", 1), a_workload("new", "a"),
        settings=FAIR,
    )  # fmt: skip
    assert played.victims("new") == {"b1": "InCohortFairSharing"}


def test_f3_the_imbalance_is_not_flipped() -> None:
    """F3: two more would give a the share that b has now."""
    played = play(
        _three(), _units("a", 3), _units("b", 5), a_workload("new", "a", 2), settings=FAIR
    )
    assert played.victims("new") == {}
    assert played.verdict("new") == ("pending", "parked")


@pytest.mark.parametrize("prios", [(1, 0), (0, 1)])
def test_of_queues_with_equal_shares_the_lower_priority_goes(prios: tuple[int, int]) -> None:
    """What breaks the tie is who would go first of each, not how the queues are called."""
    one, other = prios
    played = play(
        a_queue("a", 6, "all", reclaim="Any"),
        a_queue("b", 0, "all"),
        a_queue("c", 0, "all"),
        a_holder("b1", "b", 3, prio=one),
        a_holder("c1", "c", 3, prio=other),
        a_workload("new", "a", 3, prio=1),
        settings=FAIR,
    )
    victim = "b1" if one < other else "c1"
    assert played.victims("new") == {victim: "InCohortReclamation"}


def test_f4_own_lower_priority_goes_unconditionally() -> None:
    """F4: where a's share is the larger, its own low priorities make room."""
    low = [a_holder(f"low{n}", "a", 1, prio=-1, since=-n) for n in (1, 2)]
    played = play(
        _three(), _units("a", 2), low, _units("b", 5), a_workload("new", "a", 2), settings=FAIR
    )
    assert played.victims("new") == {"low1": "InClusterQueue", "low2": "InClusterQueue"}


@pytest.mark.parametrize(
    ("strategies", "victim"),
    [([INITIAL], "b-low"), ([FINAL], "b-high"), ([FINAL, INITIAL], "b-high")],
)
def test_f7_strategies(strategies: list[str], victim: str) -> None:
    """F7: S2-b looks at the share before removal, S2-a at the share after it."""
    played = play(
        _three(), a_holder("a1", "a", 3),
        a_holder("b-low", "b", 5), a_holder("b-high", "b", 1, prio=1),
        a_workload("new", "a"),
        settings={"fairSharing": {"enable": True, "preemptionStrategies": strategies}},
    )  # fmt: skip
    assert played.victims("new") == {victim: "InCohortFairSharing"}


def test_f8_a_weight_of_two_halves_the_share() -> None:
    """F8: with weight 2 a may take two from b."""
    played = play(
        _three(2), _units("a", 3), _units("b", 6), a_workload("new", "a", 2), settings=FAIR
    )
    assert played.victims("new") == {"b1": "InCohortFairSharing", "b2": "InCohortFairSharing"}


GPU = "nvidia.com/gpu"


def test_f10_the_dominant_resource_counts() -> None:
    """F10: of cpu 1/10 and gpu 2/10 borrowed, gpu is dominant: 200."""
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
    """F10: 2 of 10 lendable borrowed; a share is divided by the weight, by zero it is infinite."""
    played = play(
        a_queue("q", 5, "all", resource=GPU, weight=weight),
        a_queue("lender", 5, "all", resource=GPU),
        a_holder("h", "q", 7, resource=GPU),
    )
    assert played.share("q") == share


def test_f11_shares_are_summed_over_flavors() -> None:
    """F11: 5 of 200 CPUs borrowed, over all flavors of the tree: 25."""
    played = play(
        a_flavor("on-demand"), a_flavor("spot"), a_flavor("other"),
        a_queue("q", {"on-demand": 20, "spot": 80}, "all"),
        a_queue("lender", {"other": 100}, "all"),
        a_holder("h1", "q", 15, flavor="on-demand"),
        a_holder("h2", "q", 10, flavor="on-demand"),
        a_holder("h3", "q", 5, flavor="spot"),
    )  # fmt: skip
    assert played.share("q") == 25


def test_f13_the_lower_share_wins_the_tournament() -> None:
    """F13: 60 of 100 against 75: b goes first, and c does not fit any more."""
    played = play(
        a_cohort("all", 100), a_queue("b", 0, "all"), a_queue("c", 0, "all"),
        a_holder("b1", "b", 10), a_workload("wb", "b", 50), a_workload("wc", "c", 75),
        settings=FAIR,
    )  # fmt: skip
    assert played.verdict("wb") == ("admitted", None)
    assert played.verdict("wc") == ("skipped", "heap")


def test_a_cohorts_share_counts_at_its_level() -> None:
    """At each level the child with the lower share wins, whatever stands below it."""
    played = play(
        a_cohort("root", 10), a_cohort("left", parent="root"), a_cohort("right", parent="root"),
        a_queue("l1", 0, "left"), a_queue("l2", 0, "left"), a_queue("r", 0, "right"),
        a_holder("h1", "l1", 4), a_holder("h2", "r", 1),
        a_workload("wl", "l2", 4, age=9), a_workload("wr", "r", 4),
        settings=FAIR,
    )  # fmt: skip
    assert played.admitted() == {"wr"}
    assert (played.share("left"), played.share("right")) == (400, 100)


def test_those_who_do_not_borrow_go_first() -> None:
    """A head inside its quota beats one that borrows, even with the higher share elsewhere."""
    played = play(
        a_queue("a", 4, "all"), a_queue("b", Q(2, 8), "all"), a_cohort("all", 2),
        a_workload("wa", "a", 4), a_workload("wb", "b", 5, prio=9, age=99),
        settings=FAIR,
    )  # fmt: skip
    assert played.admitted() == {"wa"}


def test_two_do_not_evict_each_other_in_turn() -> None:
    """Once a victim waits, it may not take its place back from who preempted it."""
    held = [*_units("b", 6), *_units("a", 3)]
    played = play(_three(), held, a_workload("new", "a"), settings=FAIR)
    assert played.victims("new") == {"b1": "InCohortFairSharing"}
    after = [h for h in [*held, a_holder("new", "a", 1)] if h["metadata"]["name"] != "b1"]
    again = play(_three(), after, a_workload("b1", "b"), settings=FAIR)
    assert again.victims("b1") == {}


def test_whoever_has_weight_zero_gives_back_all_that_it_borrows() -> None:
    """An infinite share is above ours until the last borrowed unit is gone, and it can not take them back."""
    played = play(
        a_queue("a", 3, "all", **_POLICY), a_queue("b", 3, "all", weight=0, **_POLICY),
        a_queue("c", 3, "all", **_POLICY),
        _units("a", 3), _units("b", 6), a_workload("new", "a", 3), settings=FAIR,
    )  # fmt: skip
    assert played.victims("new") == dict.fromkeys(("b1", "b2", "b3"), "InCohortFairSharing")


def test_an_equal_of_the_own_queue_does_not_go_for_a_larger_share() -> None:
    """An older equal that asks for more than it frees would be next to go: three would evict in turn."""
    policy: dict[str, Any] = {"within": "LowerOrNewerEqualPriority", "reclaim": "Any"}
    scene = [
        a_cohort("all", 5), a_cohort("light", parent="all", weight=0),
        a_queue("a", 4, "all", **policy), a_queue("b", 6, "light", **policy),
        a_holder("theirs", "a", 8, prio=1), a_holder("newer", "b", 4, age=10),
        a_holder("other", "b", 2, prio=2),
    ]  # fmt: skip
    larger = play(scene, a_workload("older", "b", 5, age=50), settings=FAIR)
    assert larger.victims("older") == {}
    same = play(scene, a_workload("older", "b", 4, age=50), settings=FAIR)
    assert same.victims("older") == {"newer": "InClusterQueue"}


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


@pytest.mark.parametrize(
    ("reclaim", "prio", "victims"),
    [
        ("Never", 0, {"b1", "b2"}),
        ("LowerPriority", 0, {"b1", "b2"}),
        ("LowerPriority", 1, set()),  # b1 would evict it, b2 fill the room, and all begin again
        ("Any", 0, set()),
    ],
)
def test_shares_are_looked_at_once_more_only_where_victims_could_answer(
    reclaim: str, prio: int, victims: set[str]
) -> None:
    """Who goes must have more of a share than the preemptor then, if its queue may reclaim from it."""
    played = play(
        a_cohort("all", 2), a_queue("a", 4, "all", reclaim="Any"), a_queue("b", 0, "all", reclaim=reclaim),
        a_holder("b1", "b", 1, since=-1, prio=prio), a_holder("b2", "b", 5, since=-2, prio=prio),
        a_workload("new", "a", 6), settings=FAIR,
    )  # fmt: skip
    assert set(played.victims("new")) == victims


def test_an_equal_of_the_own_queue_goes_where_nobody_else_reclaims() -> None:
    """Without anybody who could evict the larger one in turn, an older equal goes for it."""
    policy: dict[str, Any] = {"within": "LowerOrNewerEqualPriority"}
    played = play(
        a_cohort("all", 5), a_cohort("light", parent="all", weight=0),
        a_queue("a", 4, "all"), a_queue("b", 6, "light", reclaim="Any", **policy),
        a_holder("theirs", "a", 8, prio=1), a_holder("newer", "b", 4, age=10),
        a_holder("other", "b", 2, prio=2), a_workload("older", "b", 5, age=50), settings=FAIR,
    )  # fmt: skip
    assert played.victims("older") == {"newer": "InClusterQueue"}


@pytest.mark.parametrize(
    ("strategy", "victims"), [(FINAL, {"b1": "InCohortFairSharing"}), (INITIAL, {})]
)
def test_equal_shares_allow_what_the_final_share_decides(
    strategy: str, victims: dict[str, str]
) -> None:
    """LessThanOrEqualToFinalShare takes from who will have as much; LessThanInitialShare asks for less."""
    # final: with new both a and b borrow one; initial: with new a borrows two, as b does
    used = (5, 3) if strategy == FINAL else (5, 4)
    played = play(
        _three(), _units("b", used[0]), _units("a", used[1]), _units("c", 1 if strategy == FINAL else 0),
        a_workload("new", "a"),
        settings={"fairSharing": {"enable": True, "preemptionStrategies": [strategy]}},
    )  # fmt: skip
    assert played.victims("new") == victims

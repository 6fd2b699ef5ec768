"""Fair sharing: preemption by share."""

from typing import Any

import pytest

from tests.offline.build import FAIR, a_cohort, a_holder, a_queue, a_workload, play

FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"

_POLICY: dict[str, Any] = {"within": "LowerPriority", "reclaim": "Any"}


def _three(weight_of_a: object = None) -> list[Any]:
    return [
        a_queue("a", 3, "all", weight=weight_of_a, **_POLICY),
        a_queue("b", 3, "all", **_POLICY),
        a_queue("c", 3, "all", **_POLICY),
    ]


def test_f1_within_nominal_reclaims() -> None:
    """Queue c within its nominal takes from b, who borrows most: a reclamation."""
    played = play(
        _three(), _units("a", 3), _units("b", 5), _units("c", 1), a_workload("new", "c"),
        settings=FAIR,
    )  # fmt: skip
    assert played.victims("new") == {"b1": "InCohortReclamation"}


def test_f2_a_smaller_share_takes_from_a_larger() -> None:
    """With the new one a would still have less than b."""
    played = play(
        _three(), _units("a", 3), _units("b", 5), _units("c", 1), a_workload("new", "a"),
        settings=FAIR,
    )  # fmt: skip
    assert played.victims("new") == {"b1": "InCohortFairSharing"}


def test_f3_the_imbalance_is_not_flipped() -> None:
    """Two more would give a the share that b has now."""
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
    """Where a's share is the larger, its own low priorities make room."""
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
    """S2-b looks at the share before removal, S2-a at the share after it."""
    played = play(
        _three(), a_holder("a1", "a", 3),
        a_holder("b-low", "b", 5), a_holder("b-high", "b", 1, prio=1),
        a_workload("new", "a"),
        settings={"fairSharing": {"enable": True, "preemptionStrategies": strategies}},
    )  # fmt: skip
    assert played.victims("new") == {victim: "InCohortFairSharing"}


def test_f8_a_weight_of_two_halves_the_share() -> None:
    """With weight 2 a may take two from b."""
    played = play(
        _three(2), _units("a", 3), _units("b", 6), a_workload("new", "a", 2), settings=FAIR
    )
    assert played.victims("new") == {"b1": "InCohortFairSharing", "b2": "InCohortFairSharing"}


def test_two_do_not_evict_each_other_in_turn() -> None:
    """Once a victim waits, it may not take its place back from who preempted it."""
    held = [*_units("b", 6), *_units("a", 3)]
    played = play(_three(), held, a_workload("new", "a"), settings=FAIR)
    assert played.victims("new") == {"b1": "InCohortFairSharing"}
    after = [h for h in [*held, a_holder("new", "a", 1)] if h["metadata"]["name"] != "b1"]
    again = play(_three(), after, a_workload("b1", "b"), settings=FAIR)
    assert again.victims("b1") == {}


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


def _units(queue: str, count: int, first: int = 1) -> list[Any]:
    return [a_holder(f"{queue}{n}", queue, 1, since=-n) for n in range(first, first + count)]


def test_whoever_has_weight_zero_gives_back_all_that_it_borrows() -> None:
    """An infinite share is above ours until the last borrowed unit is gone, and it can not take them back."""
    played = play(
        a_queue("a", 3, "all", **_POLICY), a_queue("b", 3, "all", weight=0, **_POLICY),
        a_queue("c", 3, "all", **_POLICY),
        _units("a", 3), _units("b", 6), a_workload("new", "a", 3), settings=FAIR,
    )  # fmt: skip
    assert played.victims("new") == dict.fromkeys(("b1", "b2", "b3"), "InCohortFairSharing")


@pytest.mark.parametrize("prios", [(0, -1), (-1, 0)])
def test_of_a_cohort_and_a_queue_with_equal_shares_the_cohort_gives(
    prios: tuple[int, int],
) -> None:
    """Whoever would go first of each, and however they are called."""
    in_cohort, beside = prios
    for name in ("aa", "zz"):
        played = play(
            a_cohort("all"), a_cohort(name, parent="all"), a_queue("own", 6, "all", reclaim="Any"),
            a_queue("b", 0, "all"), a_queue("c", 0, name),
            a_holder("b1", "b", 3, prio=beside), a_holder("c1", "c", 3, prio=in_cohort),
            a_workload("new", "own", 3, prio=1), settings=FAIR,
        )  # fmt: skip
        assert set(played.victims("new")) == {"c1"}


@pytest.mark.parametrize(
    ("held", "cause"), [(2, "InCohortReclamation"), (3, "InCohortFairSharing")]
)
def test_up_to_its_nominal_quota_a_queue_reclaims(held: int, cause: str) -> None:
    """With the new workload exactly at its quota shares do not matter; beyond it they decide."""
    played = play(
        _three(), _units("c", held), _units("b", 9 - held), a_workload("new", "c"), settings=FAIR
    )
    assert set(played.victims("new").values()) == {cause}


@pytest.mark.parametrize(("reclaim", "victims"), [("Any", {"b1"}), ("Never", set())])
def test_reclaiming_while_borrowing_needs_no_other_policy(reclaim: str, victims: set[str]) -> None:
    """Beyond its own quota a queue takes by share if it may reclaim, whatever withinClusterQueue says."""
    played = play(
        a_queue("a", 2, "all", reclaim=reclaim), a_queue("b", 0, "all"), a_queue("c", 6, "all"),
        a_holder("b1", "b", 8), a_workload("new", "a", 3), settings=FAIR,
    )  # fmt: skip
    assert set(played.victims("new")) == victims

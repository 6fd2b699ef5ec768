"""Which head of a round goes first: by share in a tournament, or by borrowing, priority and time."""

from typing import Any

import pytest

from hub.domain.admission.head_order import in_order
from tests.offline.build import (
    FAIR,
    Q,
    a_cohort,
    a_condition,
    a_holder,
    a_queue,
    a_workload,
    nominated,
    play,
)


def test_f13_the_lower_share_wins_the_tournament() -> None:
    """60 of 100 against 75: b goes first, and c does not fit any more."""
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


_TIMED_OUT = [a_condition("Evicted", "PodsReadyTimeout", since=-50)]


# name: amount, priority, age in seconds, conditions. Each queue has ten.
_NINE: dict[str, tuple[Any, int, float, Any]] = {
    "high": (1, 9, 10, None),
    "older": (1, 0, 100, None),
    "timed-out": (1, 0, 200, _TIMED_OUT),
    "newer": (1, 0, 40, None),
    "level1-high": (15, 5, 10, None),
    "level1-old": (15, 1, 90, None),
    "level1-new": (15, 1, 80, None),
    "level2-high": (65, 50, 10, None),
    "level2-low": (65, 1, 300, None),
}


@pytest.mark.parametrize(
    ("timestamp", "within"),
    [
        ("Eviction", ["high", "older", "timed-out", "newer"]),
        ("Creation", ["high", "timed-out", "older", "newer"]),
    ],
)
def test_c9_nine_heads(timestamp: str, within: list[str]) -> None:
    """Inside nominal by priority and time, then borrowing level 1, then level 2."""
    heads = nominated(_NINE, timestamp)
    assert [h.who.name for h in in_order(heads)] == [
        *within, "level1-high", "level1-old", "level1-new", "level2-high", "level2-low",
    ]  # fmt: skip

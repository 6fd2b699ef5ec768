"""Which head of a round goes first: by share in a tournament, or by borrowing, priority and time."""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from hub.domain.admission.flavor_assigner import Mode, Search
from hub.domain.admission.head_order import by_share, in_order
from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.quota.holders import PendingWorkload, QuotaState
from hub.domain.quota.ledger import Ledger
from tests.domain.build import a_queue as a_plain_queue
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


class _Head(NamedTuple):
    who: PendingWorkload
    search: Search
    usage: Usage


def _head(uid: str, queue: str, cpu: int, *, nominated: bool = False, prio: int = 0) -> _Head:
    who = PendingWorkload(uid, "ns", uid, queue, (), prio, nominated=nominated)
    return _Head(who, Search(Mode.FIT), {FlavorResource("any", "cpu"): cpu * 1000})


@pytest.mark.parametrize(("first", "expected"), [(False, "ba"), (True, "ab")])
def test_who_waits_for_its_victims_goes_before_lower_shares(*, first: bool, expected: str) -> None:
    """With preemptorsFirst a nominated head wins the tournament, though it borrows and b does not."""
    queues = [replace(a_plain_queue(name=name, cpu=4), cohort="all") for name in "ab"]
    state = QuotaState(Ledger(queues).tree, {q.name: q for q in queues}, {})
    heads = [_head("a", "a", 6, nominated=True), _head("b", "b", 1)]
    assert "".join(h.who.uid for h in by_share(state, heads, preemptors_first=first)) == expected


def test_queues_without_a_cohort_come_before_trees() -> None:
    """Among themselves by seniority; a tree's order has no say in theirs."""
    queues = [a_plain_queue(name=name, cpu=4) for name in "abc"]
    queues[0] = replace(queues[0], cohort="all")
    state = QuotaState(Ledger(queues).tree, {q.name: q for q in queues}, {})
    heads = [_head("x", "a", 1, prio=9), _head("y", "b", 1), _head("z", "c", 1, prio=1)]
    assert [h.who.uid for h in by_share(state, heads)] == ["z", "y", "x"]


def test_the_borrowing_level_goes_before_priority() -> None:
    """Then priority, the time of queueing, and identity."""

    def head(uid: str, level: int, prio: int, at: int) -> _Head:
        who = PendingWorkload(uid, "ns", uid, "q", (), prio, at)
        return _Head(who, Search(Mode.FIT, borrowing=level), {})

    heads = [
        head("e", 1, 9, 0),
        head("d", 0, 0, 5),
        head("c", 0, 0, 5),
        head("b", 0, 0, 1),
        head("a", 0, 1, 9),
    ]
    assert [h.who.uid for h in in_order(heads)] == ["a", "b", "c", "d", "e"]
    waits = heads[0]._replace(who=replace(heads[0].who, nominated=True))
    assert [h.who.uid for h in in_order([*heads[1:], waits])][-1] == "e"
    assert next(iter(in_order([*heads[1:], waits], preemptors_first=True))).who.uid == "e"

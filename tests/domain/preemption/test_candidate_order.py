"""Which of several candidates goes first, and who may go at all: rule by rule, without a cycle."""

from typing import Any

import pytest

from hub.domain.preemption.search import (
    Cause,
    Contest,
    PreemptionLimits,
    Victim,
    order_key,
    removals,
)
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from tests.domain.build import a_pod_set, a_queue

CPU, MEMORY = FlavorResource("any", "cpu"), FlavorResource("any", "memory")


def a_holder(uid: str, cpu: int = 1, queue: str = "q", **given: Any) -> AdmittedWorkload:
    named = {"usage": {CPU: cpu}, "namespace": "ns", **given}
    return AdmittedWorkload(uid=uid, name=uid, queue=queue, **named)


def a_contest(
    *holders: AdmittedWorkload, asked: int = 1, nominal: str = "1", **given: Any
) -> Contest:
    """Queues q and r; a workload of q with priority 0, queued at 10, that asks for cpu of q."""
    queues = [a_queue(name=name, cpu=nominal) for name in "qr"]
    policies = {"q": QueuePolicy(by_usage=given.pop("by_usage", False)), "r": QueuePolicy()}
    state = QuotaState(
        Ledger(queues).tree, {q.name: q for q in queues}, policies, holders,
        ranks=given.pop("ranks", {}),
    )  # fmt: skip
    who = PendingWorkload("w", "ns", "w", "q", (a_pod_set(),), 0, 10)
    return Contest(state, who, {CPU: asked}, frozenset({CPU}), **given)


def order(contest: Contest, holders: list[AdmittedWorkload]) -> str:
    return "".join(h.uid for h in contest.sorted(holders))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (("LowestPriority", "MostRecent"), "bca"),
        (("MostRecent",), "cba"),
        (("Smallest",), "acb"),
        (("LeastWorkLost",), "bca"),
        (("Smallest", "MostRecent"), "acb"),
        ((), "abc"),
    ],
)
def test_tie_rules_of_the_administrator(rules: tuple[str, ...], expected: str) -> None:
    """Lowest priority; reserved last; least held over all flavors; running for the shortest time."""
    holders = [
        a_holder("a", usage={CPU: 2, MEMORY: 1}, priority=1, reserved_at=1, queued_at=9, started_at=1),
        a_holder("b", usage={CPU: 5}, priority=-1, reserved_at=2, queued_at=5, started_at=7),
        a_holder("c", usage={CPU: 1, MEMORY: 3}, priority=1, reserved_at=3, queued_at=1, started_at=5),
    ]  # fmt: skip
    contest = a_contest(*holders, limits=PreemptionLimits(order=rules))
    assert order(contest, holders) == expected
    key = order_key(rules)
    assert "".join(h.uid for h in sorted(holders, key=key)) == expected


def test_who_has_not_started_lost_no_work_since_its_reservation() -> None:
    """It counts from when quota was reserved."""
    holders = [a_holder("a", reserved_at=5), a_holder("b", reserved_at=1, started_at=7)]
    contest = a_contest(*holders, limits=PreemptionLimits(order=("LeastWorkLost",)))
    assert order(contest, holders) == "ba"


def test_equals_go_by_uid() -> None:
    """The last tie is broken the same way each time."""
    holders = [a_holder(uid) for uid in "cab"]
    assert order(a_contest(*holders), holders) == "abc"


def test_evicted_ones_then_those_of_others_then_its_own() -> None:
    """Whatever their priorities."""
    holders = [
        a_holder("a", priority=-5),
        a_holder("b", queue="r", priority=5),
        a_holder("c", priority=9, evicted=True),
        a_holder("d", queue="r", priority=9, evicted=True),
    ]
    assert order(a_contest(*holders), holders) == "dcba"


def test_where_history_counts_the_heavier_user_goes_first() -> None:
    """Within that queue alone, evicted ones before: other queues' keep their places."""
    heavy: dict[str, Any] = {"local_queue": "heavy"}
    light: dict[str, Any] = {"local_queue": "light"}
    holders = [
        a_holder("a", reserved_at=9, **light),
        a_holder("b", reserved_at=1, **heavy),
        a_holder("c", reserved_at=5, **heavy),
        a_holder("d", evicted=True, **light),
        a_holder("e", queue="r", reserved_at=5, **heavy),
        a_holder("f", queue="r", reserved_at=9, **light),
    ]
    ranks = {"ns/heavy": 3.0, "ns/light": 1.0}
    contest = a_contest(*holders, by_usage=True, ranks=ranks)
    assert order(contest, holders) == "dfecba"
    assert order(a_contest(*holders, ranks=ranks), holders) == "dfeacb"
    ranked = [h.uid for _, h in contest.in_order("q", "Any")]
    assert ranked == ["d", "c", "b", "a"]


@pytest.mark.parametrize(
    ("policy", "may"),
    [
        ("Never", ""),
        ("LowerPriority", "l"),
        ("LowerOrNewerEqualPriority", "ln"),
        ("Any", "lnoh"),
    ],
)
def test_whom_each_policy_lets_go(policy: str, may: str) -> None:
    """Lower; equal and queued strictly later; anybody. Who holds nothing of what is short never goes."""
    holders = [
        a_holder("l", priority=-1),
        a_holder("n", queued_at=11),
        a_holder("o", queued_at=10),
        a_holder("h", priority=1, queued_at=99),
        a_holder("x", priority=-9, usage={MEMORY: 1}),
    ]
    contest = a_contest(*holders)
    assert "".join(h.uid for h in holders if contest.may_take(h, policy)) == may


@pytest.mark.parametrize(("now", "may"), [(109, False), (110, True)])
def test_a_minimum_runtime_counts_from_the_start(now: int, *, may: bool) -> None:
    """At its end it may go; who merely holds a reservation may at any time."""
    limits = PreemptionLimits(minimum_runtime=10, now=now)
    running = a_holder("a", priority=-1, started_at=100)
    reserved = a_holder("b", priority=-1, reserved_at=100)
    contest = a_contest(running, reserved, limits=limits)
    assert contest.may_take(running, "LowerPriority") is may
    assert contest.may_take(reserved, "LowerPriority")


def test_protected_queues_lose_nobody() -> None:
    """Not even lower priorities to a policy that lets anybody go."""
    limits = PreemptionLimits(protected=frozenset({"r"}))
    own, other = a_holder("a", priority=-1), a_holder("b", queue="r", priority=-1)
    contest = a_contest(own, other, limits=limits)
    assert (contest.may_take(own, "Any"), contest.may_take(other, "Any")) == (True, False)


@pytest.mark.parametrize(("budget", "within"), [(None, True), (2, True), (1, False)])
def test_the_most_victims_of_one_preemption(budget: int | None, *, within: bool) -> None:
    """As many as the budget are allowed."""
    victims = [Victim(a_holder(uid), Cause.IN_QUEUE) for uid in "ab"]
    assert a_contest(limits=PreemptionLimits(budget=budget)).within_budget(victims) is within


@pytest.mark.parametrize(
    ("told", "within"), [("", True), ("a", True), ("x", False), ("xy", False)]
)
def test_victims_of_before_count_until_it_is_admitted(told: str, *, within: bool) -> None:
    """Two are allowed in all: those that are still there once, and those that have left."""
    victims = [Victim(a_holder(uid), Cause.IN_QUEUE) for uid in "ab"]
    limits = PreemptionLimits(budget=2, told=frozenset(told))
    assert a_contest(limits=limits).within_budget(victims) is within


def test_a_request_fits_to_the_last_unit() -> None:
    """And not beyond; nor where no cluster has the room."""
    held = a_holder("a", 600)
    assert a_contest(held, asked=400).fits()
    assert not a_contest(held, asked=401).fits()
    assert not a_contest(held, asked=400, has_room=lambda gone: False).fits()


def test_who_is_not_needed_is_given_back_from_the_second_last_on() -> None:
    """Victims stay in the order in which they were taken; everything is charged as before in the end."""
    holders = [a_holder("a", 100), a_holder("b", 300), a_holder("c", 200), a_holder("d", 400)]
    contest = a_contest(*holders, asked=500)
    with removals(contest) as tried:
        victims = (Victim(h, Cause.IN_QUEUE) for h in holders)
        assert tried.until_it_fits(victims, borrowing=True)
        assert [v.holder.uid for v in tried.taken] == ["a", "b", "c"]
        found = tried.fill_back(borrowing=True)
        assert [v.holder.uid for v in found] == ["b", "c"]
        assert contest.fits(tried.gone)
    assert contest.quota_state.tree.used_of(contest.node, CPU) == 1000


def test_without_borrowing_its_own_must_leave_enough() -> None:
    """What is given back to its queue must stay inside the queue's own quota."""
    holders = [a_holder("a", 100), a_holder("b", 500), a_holder("c", 400)]
    contest = a_contest(*holders, asked=500)
    with removals(contest) as tried:
        assert tried.until_it_fits((Victim(h, Cause.IN_QUEUE) for h in holders), borrowing=False)
        assert [v.holder.uid for v in tried.fill_back(borrowing=False)] == ["b"]


def test_victims_taken_again_are_given_back_others_first() -> None:
    """Its own stand before those of others, but for the last that was taken."""
    holders = [a_holder("a", 300), a_holder("b", 200), a_holder("c", 100)]
    contest = a_contest(*holders, asked=800)
    causes = Cause.FAIR_SHARING, Cause.IN_QUEUE, Cause.FAIR_SHARING
    victims = [Victim(h, cause) for h, cause in zip(holders, causes, strict=True)]
    with removals(contest) as tried:
        for victim in victims:
            tried.take(victim)
        found = tried.fill_back(borrowing=True)
        assert [v.holder.uid for v in found] == ["a", "c"]
        tried.take_again(victims)
        assert [h.uid for h in tried.gone] == ["b", "a", "c"]
        assert contest.quota_state.tree.used_of(contest.node, CPU) == 0

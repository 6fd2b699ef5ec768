"""Preemption for room: quota fits, no cluster holds it, and lower priorities stand where it could."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.examples import examples
from tests.offline.build import (
    Played,
    Q,
    a_cohort,
    a_condition,
    a_holder,
    a_member,
    a_pool,
    a_queue,
    a_workload,
    play,
)

ON: dict[str, Any] = {"preemption": {"forCapacity": True}}
WITHIN: dict[str, Any] = {"within": "LowerPriority"}


def full(*holders: Any, rules: dict[str, Any] | None = None, **more: Any) -> Played:
    """Two members of one 8-cpu node each, quota for far more, and a workload of priority 10 asking 8."""
    given = {**WITHIN, **more}
    return play(
        a_queue("q", 100, **given),
        a_member("m", a_pool(1, cpu=8)),
        a_member("n", a_pool(1, cpu=8)),
        *holders,
        a_workload("w", "q", 8, prio=10),
        settings=ON if rules is None else rules,
    )


def test_off_it_waits() -> None:
    """Without the setting quota alone decides who is preempted: nobody is, and the workload waits."""
    low = [a_holder("a", "q", 8, cluster="m"), a_holder("b", "q", 8, cluster="n")]
    assert full(*low, rules={}).verdict("w") == ("pending", "parked")


def test_lower_priority_goes_on_one_cluster() -> None:
    """The victim's cluster is the one that is named; nobody goes anywhere else."""
    played = full(
        a_holder("a", "q", 8, prio=1, cluster="m"), a_holder("b", "q", 8, prio=2, cluster="n")
    )
    assert played.verdict("w") == ("preempting", "heap")
    assert played.victims("w") == {"a": "InClusterCapacity"}
    assert played.of("w")["cluster"] == "m"
    assert "no cluster has the room" in played.of("w")["message"]


def test_fewer_victims_before_less_work_lost() -> None:
    """Equal priorities: one victim rather than two, though it has run longer."""
    played = full(
        a_holder("a1", "q", 4, cluster="m", since=-1),
        a_holder("a2", "q", 4, cluster="m", since=-1),
        a_holder("b", "q", 8, cluster="n", since=-900),
    )
    assert set(played.victims("w")) == {"b"}


def test_then_least_work_lost() -> None:
    """Equal priorities, one victim either way: the one that started last."""
    played = full(
        a_holder("a", "q", 8, cluster="m", since=-900),
        a_holder("b", "q", 8, cluster="n", since=-60),
    )
    assert set(played.victims("w")) == {"b"}


def test_who_can_stay_stays() -> None:
    """What is not needed is given back: the one small workload on the node need not go."""
    played = play(
        a_queue("q", 100, **WITHIN),
        a_member("m", a_pool(1, cpu=8)),
        a_holder("small", "q", 1, prio=-1, cluster="m"),
        a_holder("large", "q", 7, prio=0, cluster="m"),
        a_workload("w", "q", 7, prio=10),
        settings=ON,
    )
    assert set(played.victims("w")) == {"large"}


def test_equal_priority_stays() -> None:
    """Only strictly lower priority goes, whatever the queue's own policy says."""
    played = full(
        a_holder("a", "q", 8, prio=10, cluster="m"),
        a_holder("b", "q", 8, prio=10, cluster="n"),
        within="LowerOrNewerEqualPriority",
    )
    assert played.verdict("w") == ("pending", "parked")


def test_a_queue_that_preempts_nobody_makes_no_room() -> None:
    """withinClusterQueue Never."""
    low = [a_holder("a", "q", 8, cluster="m"), a_holder("b", "q", 8, cluster="n")]
    assert full(*low, within="Never").verdict("w") == ("pending", "parked")


def test_a_stopped_queue_of_the_cohort_gives_no_room() -> None:
    """A queue that is stopped admits nobody and loses nobody: its workloads run to their end."""
    played = play(
        a_cohort("c"),
        a_queue("q", 50, cohort="c", reclaim="Any"),
        a_queue("other", 50, cohort="c", stopPolicy="Hold"),
        a_member("m", a_pool(1, cpu=8)),
        a_holder("h", "other", 8, cluster="m"),
        a_workload("w", "q", 8, prio=10),
        settings=ON,
    )
    assert played.verdict("w") == ("pending", "parked")


@pytest.mark.parametrize(("reclaim", "verdict"), [("Never", "pending"), ("Any", "preempting")])
def test_other_queues_of_the_cohort_give_room_where_reclaim_allows(
    reclaim: str, verdict: str
) -> None:
    """Whether they borrow or not: it is room that lacks, not quota."""
    played = play(
        a_cohort("c"),
        a_queue("q", 50, cohort="c", reclaim=reclaim),
        a_queue("other", 50, cohort="c"),
        a_member("m", a_pool(1, cpu=8)),
        a_holder("h", "other", 8, cluster="m"),
        a_workload("w", "q", 8, prio=10),
        settings=ON,
    )
    assert played.of("w")["decision"] == verdict


def test_queues_without_a_common_cohort_are_none_of_its_business() -> None:
    """A neighbour on the same cluster, in a queue of its own."""
    played = play(
        a_queue("q", 50, within="LowerPriority", reclaim="Any"),
        a_queue("other", 50),
        a_member("m", a_pool(1, cpu=8)),
        a_holder("h", "other", 8, cluster="m"),
        a_workload("w", "q", 8, prio=10),
        settings=ON,
    )
    assert played.verdict("w") == ("pending", "parked")


@pytest.mark.parametrize(
    "rule",
    [
        {"nonPreemptibleQueues": ["q"]},
        {"minimumRuntime": "1h"},
        {"maxPreemptedWorkloads": 1},
    ],
)
def test_protection_holds_here_too(rule: dict[str, Any]) -> None:
    """Protected queues, minimum runtime and the most victims of one preemption."""
    played = play(
        a_queue("q", 100, **WITHIN),
        a_member("m", a_pool(1, cpu=8)),
        a_holder("a", "q", 4, cluster="m", conditions=[a_condition("Admitted", since=-60)]),
        a_holder("b", "q", 4, cluster="m", conditions=[a_condition("Admitted", since=-60)]),
        a_workload("w", "q", 8, prio=10),
        settings={"preemption": {"forCapacity": True, **rule}},
    )
    assert played.verdict("w") == ("pending", "parked")


def test_growth_goes_before_preemption() -> None:
    """Nobody goes for room that an autoscaler would add."""
    played = play(
        a_queue("q", 100, **WITHIN),
        a_member("m", a_pool(1, cpu=8) | {"maxNodes": 2}),
        a_holder("a", "q", 8, cluster="m"),
        a_workload("w", "q", 8, prio=10),
        settings=ON,
    )
    assert played.verdict("w") == ("admitted", None)


def test_quota_comes_first() -> None:
    """Where quota lacks, quota's own rules decide; room is no reason to preempt beyond them."""
    played = play(
        a_queue("q", Q(8), **WITHIN),
        a_member("m", a_pool(1, cpu=8)),
        a_holder("a", "q", 8, cluster="m"),
        a_workload("w", "q", 8, prio=10),
        settings=ON,
    )
    assert played.victims("w") == {"a": "InClusterQueue"}


held = st.lists(
    st.tuples(st.sampled_from("mn"), st.integers(1, 8), st.integers(-3, 12)), max_size=9
)


def scene(holders: list[tuple[str, int, int]], gone: frozenset[str] = frozenset()) -> Played:
    """Members of 2×6 cpu, holders put there as far as they fit, a workload of 2 pods with 4 cpu."""
    left = {"m": [6, 6], "n": [6, 6]}
    listed = []
    for number, (cluster, amount, priority) in enumerate(holders):
        node = 0 if left[cluster][0] >= left[cluster][1] else 1
        if left[cluster][node] < amount:
            continue
        left[cluster][node] -= amount
        if f"h{number}" in gone:
            continue
        listed.append(
            a_holder(f"h{number}", "q", amount, prio=priority, cluster=cluster, since=-number - 1)
        )
    pods = [{"name": "main", "count": 2, "template": {"spec": {"containers": [
        {"name": "c", "resources": {"requests": {"cpu": "4"}}}]}}}]  # fmt: skip
    return play(
        a_queue("q", 1000, **WITHIN),
        a_member("m", a_pool(2, cpu=6)),
        a_member("n", a_pool(2, cpu=6)),
        *listed,
        a_workload("w", "q", pod_sets=pods, prio=10),
        settings=ON,
    )


@examples(60)
@given(held)
def test_victims_are_minimal_and_stand_on_one_cluster(holders: list[tuple[str, int, int]]) -> None:
    """All of lower priority on the cluster that is named; without one of them it would not fit there."""
    played = scene(holders)
    decision = played.of("w")
    victims = set(played.victims("w"))
    if decision["decision"] != "preempting":
        assert not victims
        return
    numbers = [int(v.removeprefix("h")) for v in victims]
    assert {holders[n][0] for n in numbers} == {decision["cluster"]}
    assert all(holders[n][2] < 10 for n in numbers)
    for spared in victims:
        after = scene(holders, frozenset(victims - {spared})).of("w")
        assert after["decision"] != "admitted"
    assert scene(holders, frozenset(victims)).of("w")["cluster"] == decision["cluster"]


@pytest.mark.parametrize(("budget", "verdict"), [(1, "preempting"), (None, "preempting")])
def test_who_leaves_already_is_not_in_the_budget(budget: int | None, verdict: str) -> None:
    """Two must be gone, one of whom was told to go before: one more is told."""
    rules = {"forCapacity": True} | ({} if budget is None else {"maxPreemptedWorkloads": budget})
    played = full(
        a_holder("going", "q", 4, cluster="m", evicted=True), a_holder("a", "q", 4, cluster="m"),
        a_holder("b", "q", 8, prio=20, cluster="n"), rules={"preemption": rules},
    )  # fmt: skip
    assert played.of("w")["decision"] == verdict
    assert "a" in played.victims("w")


@pytest.mark.parametrize(("since", "verdict"), [(-29, "pending"), (-30, "preempting")])
def test_at_the_end_of_its_minimum_runtime_a_workload_may_go(since: int, verdict: str) -> None:
    """Not a second before."""
    admitted = [a_condition("Admitted", since=since)]
    rules = {"preemption": {"forCapacity": True, "minimumRuntime": "30s"}}
    played = full(
        a_holder("a", "q", 8, cluster="m", since=since, conditions=admitted),
        a_holder("b", "q", 8, prio=20, cluster="n"), rules=rules,
    )  # fmt: skip
    assert played.of("w")["decision"] == verdict


def test_of_equals_on_one_cluster_the_last_to_start_goes() -> None:
    """Two of the same size and priority, one of whom is enough: least work is lost."""
    for first, last in (("a", "b"), ("b", "a")):
        played = play(
            a_queue("q", 100, **WITHIN),
            a_member("m", a_pool(1, cpu=8)),
            a_holder(first, "q", 4, cluster="m", since=-900),
            a_holder(last, "q", 4, cluster="m", since=-60),
            a_workload("w", "q", 4, prio=10),
            settings=ON,
        )
        assert set(played.victims("w")) == {last}


@pytest.mark.parametrize(("stop", "verdict"), [("None", "preempting"), ("Hold", "pending")])
def test_a_stopped_queue_loses_nobody(stop: str, verdict: str) -> None:
    """Who could not come back is left alone."""
    played = play(
        a_queue("q", 50, "c", reclaim="Any"),
        a_queue("other", 50, "c", stopPolicy=stop),
        a_member("m", a_pool(1, cpu=8)),
        a_holder("h", "other", 8, cluster="m"),
        a_workload("w", "q", 8, prio=10),
        settings=ON,
    )
    assert played.of("w")["decision"] == verdict

"""Rounds among queues that share nothing: runs of equals, turns, and when a cycle ends."""

from dataclasses import replace

import pytest

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.plain_rounds import is_plain
from hub.domain.cycle.profile import Profile
from hub.domain.plan import Placement, Plan, Refusal
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.quota.usage_history import Ranks, UsageHistory
from hub.domain.workloads.demand import QUOTA_ONLY
from tests.domain.build import (
    a_cluster,
    a_demand,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot,
    decide,
    refusal,
    where,
)

WIDE = a_cluster(a_pool(nodes=9, cpu=100))
JOBS = [f"j{n:03}" for n in range(200)]


@pytest.mark.parametrize("limit", [0, 1, 64, 65, 130])
@pytest.mark.parametrize("queues", [1, 2])
def test_no_more_are_placed_than_may_be(limit: int, queues: int) -> None:
    """To the last one, whether equals are taken in runs or turn by turn; the rest is for another cycle."""
    lanes = [a_lane(a_demand(queue=name), *JOBS) for name in "qr"[:queues]]
    picture = a_snapshot(lanes, [WIDE], *(a_queue(name=name) for name in "qr"[:queues]))
    plan = decide(picture, Profile(max_placements=limit))
    assert (len(plan.placements), plan.unfinished) == (limit, True)


def test_a_cycle_that_placed_all_is_finished() -> None:
    """A limit that is not reached leaves nothing for another cycle."""
    plan = decide(a_snapshot([a_lane(a_demand(), *JOBS)], [WIDE]), Profile(max_placements=201))
    assert (len(plan.placements), plan.unfinished) == (200, False)


def test_a_placement_of_these_rounds_has_every_field() -> None:
    """They write it without its constructor, which would add what is left out: no node is kept for it."""
    plan = decide(a_snapshot([a_lane(a_demand(), *JOBS[:2])], [WIDE]), Profile())
    assert [(len(each), each.nodes) for each in plan.placements] == [
        (len(Placement._fields), ())
    ] * 2


def test_when_time_is_up_the_cycle_ends() -> None:
    """It is asked for every 32 heads; what is placed until then stays placed."""
    asked: list[int] = []

    def may_go_on(placed: int) -> bool:
        asked.append(placed)
        return placed < 40

    lanes = [a_lane(a_demand(queue=name), *JOBS) for name in "qr"]
    plan = decide(
        a_snapshot(lanes, [WIDE], a_queue(), a_queue(name="r")), Profile(may_go_on=may_go_on)
    )
    assert asked == [31, 63]
    assert (len(plan.placements), plan.unfinished) == (63, True)


def test_a_run_ends_where_quota_does() -> None:
    """What was charged for those that found no cluster is given back: another class gets it."""
    big = a_demand(a_pod_set(requests={"cpu": 3}), priority=1)
    small = a_demand()
    lanes = [a_lane(big, "a", "b", "c"), a_lane(small, *JOBS[:9])]
    plan = decide(a_snapshot(lanes, [a_cluster(a_pool(cpu=7))], a_queue(cpu=7)))
    assert sorted(where(plan)) == ["a", "b", "j000"]
    short = refusal_of(plan, small.key).shortages
    assert [(s.asked, s.used, s.limit) for s in short] == [(1000, 7000, 7000)]


def test_all_that_found_no_cluster_give_their_quota_back() -> None:
    """Three of a run are charged and one is placed: six cpu of nine are there for the next class."""
    big, late = (
        a_demand(a_pod_set(requests={"cpu": 3}), priority=1),
        a_pod_set(requests={"cpu": 6}),
    )
    lanes = [a_lane(big, "a", "b", "c"), a_lane(a_demand(late), "late")]
    plan = decide(a_snapshot(lanes, [a_cluster(a_pool(cpu=5))], a_queue(cpu=9)))
    assert list(where(plan)) == ["a"]
    assert {r.reason for r in plan.refusals} == {"NoClusterFits"}


def refusal_of(plan: Plan, key: str) -> Refusal:
    """Why this class waits."""
    return next(r for r in plan.refusals if r.demand == key)


def test_runs_take_equals_in_order_with_others_between() -> None:
    """One of the same priority that is older than the next equal goes before it."""
    other = a_demand(a_pod_set(name="x"))
    lanes = [a_lane(a_demand(), "a", "c", "e", since=0), a_lane(other, "b", "d", since=1)]
    plan = decide(a_snapshot(lanes, [WIDE]))
    assert [p.uid for p in plan.placements] == ["a", "b", "c", "d", "e"]


def test_heads_of_plain_and_of_other_queues_take_turns_in_one_order() -> None:
    """By priority, then age, then uid: whoever stands exactly equal goes by its uid."""
    preempts = {"r": QueuePolicy(within="LowerPriority")}
    for uids, winner in (("ab", "a"), ("ba", "a")):
        lanes = [a_lane(a_demand(queue=q), uid) for q, uid in zip("qr", uids, strict=True)]
        picture = a_snapshot(lanes, [a_cluster(a_pool(cpu=1))], a_queue(), a_queue(name="r"))
        assert list(where(decide(replace(picture, policies=preempts)))) == [winner]


def test_who_asks_for_quota_alone_needs_no_cluster() -> None:
    """It is charged, and placed nowhere, also where there is no cluster at all."""
    demand = a_demand(constraints=QUOTA_ONLY)
    plan = decide(a_snapshot([a_lane(demand, "a", "b")], [], a_queue(cpu=1)))
    assert where(plan) == {"a": ""}
    (placement,) = plan.placements
    assert (placement.scores, placement.rejected, placement.others) == ((), (), 0)
    assert refusal(plan).reason == "WaitingForQuota"


@pytest.mark.parametrize(
    ("policy", "rules", "plain"),
    [
        (QueuePolicy(), Rules(), True),
        (QueuePolicy(reclaim="Any"), Rules(), True),
        (QueuePolicy(within="LowerPriority"), Rules(), False),
        (QueuePolicy(by_usage=True), Rules(), False),
        (QueuePolicy(), Rules(block_admission=True), False),
        (QueuePolicy(), Rules(partial=True), False),
    ],
)
def test_which_queues_are_plain(policy: QueuePolicy, rules: Rules, *, plain: bool) -> None:
    """Without a cohort nothing can be reclaimed; history, gates and fewer pods need the other rounds."""
    lane = a_lane(a_demand(a_pod_set(count=2, min_count=1)), "a")
    ranks = Ranks(UsageHistory(1.0), {}, {})
    picture = replace(a_snapshot([lane], [WIDE]), policies={"q": policy}, ranks=ranks)
    assert is_plain("q", picture, Profile(rules=rules)) is plain
    without = replace(picture, ranks=None)
    if policy.by_usage:
        assert is_plain("q", without, Profile(rules=rules))
    whole = a_snapshot([a_lane(a_demand(), "a")], [WIDE])
    assert is_plain("q", whole, Profile(rules=Rules(partial=True)))


def test_a_queue_in_a_cohort_is_not_plain() -> None:
    """It shares quota."""
    picture = a_snapshot([], [WIDE], replace(a_queue(), cohort="all"))
    assert not is_plain("q", picture, Profile())

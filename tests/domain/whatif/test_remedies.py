"""What would let a waiting workload in: who would have to go, and which rules to be other ones."""

from dataclasses import replace

import pytest

from hub.domain.preemption.search import PreemptionLimits
from hub.domain.quota.declared import ClusterQueue, FlavorResource
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.whatif.remedies import by_flavor, remedies
from hub.domain.whatif.remedy import RemedyKind
from tests.domain.build import a_cluster, a_demand, a_pod_set, a_pool, a_queue
from tests.domain.whatif.pictures import (
    CPU,
    LOWER,
    PRESENT,
    SECOND,
    a_holder,
    a_picture,
    a_trial,
    found,
    uids,
)

TWO = a_demand(a_pod_set(requests={"cpu": 2}))


def test_what_fits_waits_for_its_turn() -> None:
    """Nothing has to change."""
    (only,) = remedies(a_trial(a_picture(), TWO), {})
    assert only.kind is RemedyKind.TURN


def test_whoever_may_preempt_waits_for_its_turn_too() -> None:
    """The victims are named; nothing else is looked for."""
    picture = a_picture([a_holder("low", 3, priority=-1)], policies={"q": LOWER})
    (only,) = remedies(a_trial(picture, TWO), {})
    assert (only.kind, uids(only)) == (RemedyKind.PREEMPTION, ["low"])


@pytest.mark.parametrize(
    ("ends", "gone"),
    [
        ({"small": PRESENT + 1, "large": PRESENT + 2}, ["small"]),
        ({"small": PRESENT + 2, "large": PRESENT + 1}, ["large"]),
        ({}, ["large"]),
        ({"small": PRESENT + 1}, ["small"]),
    ],
)
def test_who_ends_first_then_who_holds_most(ends: dict[str, int], gone: list[str]) -> None:
    """A known end goes before none; without any the largest; those not needed are not named."""
    picture = a_picture([a_holder("small", 1), a_holder("large", 2)])
    release = found(picture, TWO, ends)["Release"]
    amount = {"small": 1000, "large": 2000}[gone[0]]
    assert (uids(release), release.amounts, release.rest) == (gone, ((CPU, amount),), "")


def test_who_leaves_already_goes_before_any_end() -> None:
    """An evicted holder is as good as gone."""
    picture = a_picture([a_holder("soon", 2), a_holder("going", 2, evicted=True)])
    assert uids(found(picture, TWO, {"soon": PRESENT + 1})["Release"]) == ["going"]


def test_as_many_end_as_it_takes() -> None:
    """In the order in which they are named, and no more of them."""
    holders = [a_holder(uid, 1) for uid in "abcd"]
    release = found(a_picture(holders), TWO)["Release"]
    assert uids(release) == ["a", "b"]
    assert release.amounts == ((CPU, 2000),)


def test_without_quota_what_stands_on_the_nearest_cluster_ends() -> None:
    """Of those on it the one that takes most of what is missing; everything it holds is told."""
    clusters = [a_cluster(a_pool(cpu=4), name="near"), a_cluster(a_pool(cpu=2), name="far")]
    holders = [
        a_holder("less", 1, cluster="near"),
        a_holder("more", 2, cluster="near"),
        a_holder("far", 2, cluster="far"),
    ]
    picture = a_picture(holders, a_queue(cpu=100), clusters=clusters)
    release = found(picture, a_demand(a_pod_set(requests={"cpu": 3})))["Release"]
    assert (uids(release), release.amounts) == (["more"], ((CPU, 2000),))


def test_what_is_missing_once_quota_is_there() -> None:
    """Where the fleet is short as well, that is said."""
    picture = a_picture([a_holder("h", 4)], clusters=[a_cluster(a_pool(cpu=1))])
    release = found(picture, TWO)["Release"]
    assert uids(release) == ["h"]
    assert "no node of any member is large enough" in release.rest


@pytest.mark.parametrize(
    ("holders", "number", "victims"),
    [
        ([a_holder("a", 3, priority=5), a_holder("b", 1, priority=9)], 5, ["a"]),
        ([a_holder("a", 1, priority=5), a_holder("b", 3, priority=9)], 9, ["b"]),
        ([a_holder("a", 4, priority=0)], 0, ["a"]),
    ],
)
def test_the_priority_that_it_would_have_to_exceed(
    holders: list[AdmittedWorkload], number: int, victims: list[str]
) -> None:
    """The least of its equals and betters beyond which it could preempt."""
    picture = a_picture(holders, policies={"q": LOWER})
    priority = found(picture, TWO)["Priority"]
    assert (priority.number, uids(priority)) == (number, victims)


def test_no_priority_helps_where_nobody_may_be_preempted() -> None:
    """Policies that are Never stay so."""
    assert "Priority" not in found(a_picture([a_holder("a", 4, priority=5)]), TWO)


def test_a_priority_for_room() -> None:
    """Where quota fits and clusters are full it counts only if workloads may go for room."""
    picture = a_picture(
        [a_holder("a", 4, priority=7, cluster="c")], a_queue(cpu=100),
        clusters=[a_cluster(a_pool(cpu=4))], policies={"q": LOWER},
    )  # fmt: skip
    assert "Priority" not in found(picture, TWO)
    priority = found(picture, TWO, for_room=True)["Priority"]
    assert (priority.number, uids(priority)) == (7, ["a"])


@pytest.mark.parametrize(
    ("priority", "since", "value"),
    [(-1, 5, "LowerPriority"), (0, 5, "LowerOrNewerEqualPriority"), (0, 0, None), (1, 5, None)],
)
def test_the_mildest_policy_that_would_do(priority: int, since: int, value: str | None) -> None:
    """Within its queue: lower priorities, else newer equals; an older equal goes under neither."""
    picture = a_picture([a_holder("h", 4, priority=priority, queued_at=since)])
    policy = found(picture, TWO).get("Policy")
    told = None if policy is None else (policy.setting, policy.value, uids(policy))
    assert told == (None if value is None else ("withinClusterQueue", value, ["h"]))


def test_a_policy_that_is_there_already_is_not_proposed() -> None:
    """Only more than it has; who forbids nothing has nothing to change."""
    newer = QueuePolicy(within="LowerOrNewerEqualPriority")
    picture = a_picture([a_holder("h", 4, priority=1)], policies={"q": newer})
    assert "Policy" not in found(picture, TWO)


def cohort() -> list[ClusterQueue]:
    """Queues q and r of one cohort, four cpu each."""
    return [replace(a_queue(name=name, cpu=4), cohort="all") for name in "qr"]


@pytest.mark.parametrize(("priority", "value"), [(-1, "LowerPriority"), (5, "Any")])
def test_reclaiming_from_borrowers(priority: int, value: str) -> None:
    """In a cohort what others borrowed could be taken back, from lower priorities or from any."""
    picture = a_picture([a_holder("b", 8, "r", priority=priority)], *cohort())
    policy = found(picture, TWO)["Policy"]
    assert (policy.setting, policy.value) == ("reclaimWithinCohort", value)
    assert uids(policy) == ["b"]


def test_preempting_while_borrowing() -> None:
    """Who reclaims already could preempt lower priorities for quota that it borrows."""
    picture = a_picture(
        [a_holder("own", 4, priority=9), a_holder("b", 2, "r", priority=-1), a_holder("c", 2, "r")],
        *cohort(), policies={"q": QueuePolicy(reclaim="LowerPriority")},
    )  # fmt: skip
    assert "Policy" not in found(picture, TWO)
    over = a_picture(
        [a_holder("own", 3, priority=9), a_holder("b", 5, "r", priority=-1)],
        *cohort(), policies={"q": QueuePolicy(reclaim="LowerPriority")},
    )  # fmt: skip
    policy = found(over, TWO)["Policy"]
    assert (policy.setting, policy.value) == ("borrowWithinCohort.policy", "LowerPriority")
    assert uids(policy) == ["b"]


def test_the_budget_that_forbids_it() -> None:
    """How many would have to go is told; a budget that suffices is nothing to change."""
    holders = [a_holder(uid, 1, priority=-1) for uid in "abcd"]
    picture = a_picture(holders, policies={"q": LOWER})
    limited = found(picture, TWO, limits=PreemptionLimits(budget=1))
    assert (limited["Budget"].number, len(uids(limited["Budget"]))) == (2, 2)
    assert set(found(picture, TWO, limits=PreemptionLimits(budget=2))) == {"Preemption"}


def test_from_when_on_a_minimum_runtime_is_over() -> None:
    """The youngest of those that would go decides; whoever merely reserved may go at once."""
    holders = [
        a_holder("old", 2, priority=-2, started_at=PRESENT - 50 * SECOND),
        a_holder("young", 2, priority=-1, started_at=PRESENT - 10 * SECOND),
    ]
    picture = a_picture(holders, policies={"q": LOWER})
    limits = PreemptionLimits(minimum_runtime=60 * SECOND)
    one = found(picture, TWO, limits=limits)["MinimumRuntime"]
    assert (uids(one), one.at) == (["old"], PRESENT + 10 * SECOND)
    four = a_demand(a_pod_set(requests={"cpu": 4}))
    both = found(picture, four, limits=limits)["MinimumRuntime"]
    assert (sorted(uids(both)), both.at) == (["old", "young"], PRESENT + 50 * SECOND)


def test_a_protected_queue_is_named() -> None:
    """The one of which somebody would have to go; of several the first by name."""
    picture = a_picture(
        [a_holder("b", 8, "r", priority=-1)], *cohort(),
        policies={"q": QueuePolicy(reclaim="Any")},
    )  # fmt: skip
    limits = PreemptionLimits(protected=frozenset({"r", "a"}))
    protected = found(picture, TWO, limits=limits)["ProtectedQueue"]
    assert (protected.value, uids(protected)) == ("r", ["b"])


def test_each_flavor_alone() -> None:
    """In the queue's order; no more of them than may be asked about."""
    used = a_holder("h", 3, flavor="uno")
    picture = a_picture([used], a_queue(flavors=("uno", "due"), cpu=4))
    told = [(name, nominee.search.mode.name) for name, nominee in by_flavor(a_trial(picture, TWO))]
    assert told == [("uno", "NO_CANDIDATES"), ("due", "FIT")]
    assert [name for name, _ in by_flavor(a_trial(picture, TWO, left=1))] == ["uno"]
    assert FlavorResource("uno", "cpu") in used.usage


def test_nothing_more_is_asked_than_is_allowed() -> None:
    """Without questions left there is no remedy, and the count never falls below none by much."""
    picture = a_picture([a_holder(uid, 1, priority=1) for uid in "abcd"], policies={"q": LOWER})
    for left in range(1, 12):
        trial = a_trial(picture, TWO, left=left)
        remedies(trial, {})
        assert trial.left >= -1
    assert remedies(a_trial(picture, TWO, left=1), {}) == []

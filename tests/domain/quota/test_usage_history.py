"""LocalQueues that used less go first."""

import math
from typing import Any

import pytest

from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.usage_history import Ranks, UsageHistory, request_of
from tests.offline.build import a_local_queue, a_queue, a_workload, play

_AFS = {"admissionFairSharing": {"usageHalfLifeTime": "1h", "usageSamplingInterval": "5m"}}


_BY_USAGE: dict[str, Any] = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


def _with_history(name: str, used: int, weight: object = 1) -> dict[str, Any]:
    status = {"fairSharing": {"admissionFairSharingStatus": {"consumedResources": {"cpu": used}}}}
    return a_local_queue(name, "q", spec={"fairSharing": {"weight": weight}}, status=status)


def test_s1_lower_usage_goes_first() -> None:
    """Rank 10 against 6/2 = 3: the lower goes first, whatever the priorities."""
    played = play(
        a_queue("q", 1, **_BY_USAGE),
        _with_history("lq-a", 10),
        _with_history("lq-b", 6, 2),
        a_workload("wa", "lq-a", prio=2),
        a_workload("wb", "lq-b", prio=1),
        settings=_AFS,
    )
    assert played.admitted() == {"wb"}


def test_s1_without_the_scope_priority_decides() -> None:
    """History counts only where the queue's admissionScope says so."""
    played = play(
        a_queue("q", 1),
        _with_history("lq-a", 10),
        _with_history("lq-b", 6, 2),
        a_workload("wa", "lq-a", prio=2),
        a_workload("wb", "lq-b", prio=1),
        settings=_AFS,
    )
    assert played.admitted() == {"wa"}


def test_s3_weight_zero_goes_last() -> None:
    """With no usage on either side, the LocalQueue of weight 0 is last."""
    played = play(
        a_queue("q", 1, **_BY_USAGE),
        _with_history("lq-a", 0, 0),
        _with_history("lq-b", 0),
        a_workload("wa", "lq-a", prio=9, age=99),
        a_workload("wb", "lq-b"),
        settings=_AFS,
    )
    assert played.admitted() == {"wb"}


def test_an_admission_counts_at_once() -> None:
    """The entry penalty of one admission lets the other LocalQueue go next."""
    played = play(
        a_queue("q", 2, **_BY_USAGE),
        _with_history("lq-a", 0),
        _with_history("lq-b", 0),
        a_workload("a1", "lq-a", prio=9),
        a_workload("a2", "lq-a", prio=9),
        a_workload("b1", "lq-b"),
        settings=_AFS,
        rounds=2,
    )
    assert played.admitted() == {"a1", "b1"}


HOUR = UsageHistory(half_life=3600.0, sampling=1800.0)
CPU = FlavorResource("f", "cpu")


@pytest.mark.parametrize(
    ("elapsed", "alpha"), [(0, 0.0), (3600, 0.5), (7200, 0.75), (1800, 1 - 0.5**0.5)]
)
def test_the_present_counts_the_more_the_longer_it_lasted(elapsed: float, alpha: float) -> None:
    """After one half-life half, after two three quarters."""
    assert HOUR.alpha(elapsed) == pytest.approx(alpha)


def test_without_a_half_life_nothing_is_remembered() -> None:
    """Neither history nor penalties."""
    none = UsageHistory(half_life=0.0)
    assert none.alpha(300.0) == 0.0
    assert none.decayed({"cpu": 4.0}, {"cpu": 8.0}, 60.0) == {}
    assert none.penalty({"cpu": 4.0}) == {"cpu": 0.0}


def test_history_decays_towards_what_is_used_now() -> None:
    """One half-life on it is half of each; what is used no more fades, what is new comes in."""
    found = HOUR.decayed({"cpu": 4.0, "gpu": 2.0}, {"cpu": 8.0, "memory": 6.0}, 3600.0)
    assert found == {"cpu": 6.0, "gpu": 1.0, "memory": 3.0}


def test_an_admission_counts_as_if_it_ran_until_the_next_sample() -> None:
    """By the sampling interval, whatever the time since the last sample."""
    assert HOUR.penalty({"cpu": 10.0})["cpu"] == pytest.approx(10 * (1 - 0.5**0.5))


def test_rank_is_weighed_usage_over_weight() -> None:
    """Resources by their weights, 1 where none is given; no weight is last of all."""
    history = UsageHistory(3600.0, weights={"cpu": 2.0, "gpu": 0.0})
    used = {"cpu": 3.0, "gpu": 100.0, "memory": 4.0}
    assert history.rank(used, 2.0) == 5.0
    assert history.rank({}, 2.0) == 0.0
    assert history.rank({}, 0.0) == history.rank({}, -1.0) == math.inf


def some_ranks() -> Ranks:
    """Two LocalQueues, of weights 1 and 2, that have consumed 4 cores each."""
    consumed = {"ns/a": {"cpu": 4.0}, "ns/b": {"cpu": 4.0}}
    return Ranks(HOUR, consumed, {"ns/a": 1.0, "ns/b": 2.0})


PENALTY = 1 - 0.5**0.5  # of one core


def test_what_was_taken_back_leaves_no_trace() -> None:
    """A penalty, in cores, from the reservation until it is forgiven; also where nothing was consumed."""
    ranks = some_ranks()
    before = dict(ranks.values)
    ranks.penalise("ns/b", {CPU: 2000})
    assert ranks.values["ns/b"] == pytest.approx(2.0 + PENALTY)
    ranks.penalise("ns/new", {CPU: 1000})
    assert ranks.values["ns/new"] == pytest.approx(PENALTY)
    ranks.forgive("ns/new", {CPU: 1000})
    ranks.forgive("ns/b", {CPU: 2000})
    assert ranks.values == {**before, "ns/new": 0.0}


def test_two_flavors_of_one_resource_count_together() -> None:
    """History is by resource; what is taken back of one leaves the other."""
    ranks = some_ranks()
    ranks.penalise("ns/a", {CPU: 1000, FlavorResource("g", "cpu"): 2000})
    ranks.forgive("ns/a", {CPU: 1000})
    assert ranks.values["ns/a"] == pytest.approx(4.0 + 2 * PENALTY)
    usage = {CPU: 1500, FlavorResource("g", "cpu"): 500, FlavorResource("g", "memory"): 7}
    assert request_of(usage) == {"cpu": 2.0, "memory": 7.0}


def test_a_copy_is_penalised_alone() -> None:
    """The ranks it was made from stay as they are."""
    ranks = some_ranks()
    ranks.penalise("ns/a", {CPU: 1000})
    before = dict(ranks.values)
    other = ranks.copy()
    other.penalise("ns/a", {CPU: 1000})
    assert other.values["ns/a"] == pytest.approx(4.0 + 2 * PENALTY)
    assert ranks.values == before
    ranks.forgive("ns/a", {CPU: 1000})
    assert ranks.values["ns/a"] == 4.0


def test_another_weight_changes_the_rank_at_once() -> None:
    """Of those whose weight changed, or who have none any more: theirs is 1."""
    ranks = some_ranks()
    ranks.weigh({"ns/a": 4.0})
    assert ranks.values == {"ns/a": 1.0, "ns/b": 4.0}


def test_a_sample_takes_in_what_is_used_and_what_was_reserved() -> None:
    """Decayed history, present use and penalties; then no penalty is left."""
    ranks = some_ranks()
    ranks.penalise("ns/a", {CPU: 1000})
    found = ranks.sampled({"ns/b": {"cpu": 8.0}}, {"ns/a": 3600.0, "ns/b": 3600.0})
    assert found["ns/a"]["cpu"] == pytest.approx(2.0 + PENALTY)
    assert found["ns/b"] == {"cpu": 6.0}
    ranks.sample({"ns/b": {"cpu": 8.0}}, 3600.0)
    assert ranks.values["ns/a"] == pytest.approx(2.0 + PENALTY)
    assert ranks.values["ns/b"] == 3.0
    ranks.sample({}, 3600.0)
    assert ranks.values["ns/a"] == pytest.approx((2.0 + PENALTY) / 2)


def test_of_who_was_not_sampled_nothing_decays() -> None:
    """No time has passed for a LocalQueue that is not named."""
    assert some_ranks().sampled({}, {"ns/a": 3600.0}) == {
        "ns/a": {"cpu": 2.0}, "ns/b": {"cpu": 4.0},
    }  # fmt: skip


def test_what_is_consumed_replaces_what_was() -> None:
    """Reservations since then still count."""
    ranks = some_ranks()
    ranks.penalise("ns/a", {CPU: 1000})
    ranks.consume({"ns/c": {"cpu": 1.0}})
    assert ranks.values == {"ns/a": pytest.approx(PENALTY), "ns/b": 0.0, "ns/c": 1.0}

"""LocalQueues that used less go first."""

from typing import Any

from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.usage_history import Ranks, UsageHistory
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


def test_a_copy_of_the_ranks_is_apart() -> None:
    """What is penalised in a copy, which one cycle plays with, never counts in the ranks themselves."""
    cpu = FlavorResource("any", "cpu")
    ranks = Ranks(UsageHistory(half_life=3600.0), {}, {})
    ranks.penalise("ns/a", {cpu: 1000})
    ranks.copy().penalise("ns/a", {cpu: 5000})
    ranks.forgive("ns/a", {cpu: 1000})
    assert ranks.values["ns/a"] == 0

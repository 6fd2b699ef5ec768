"""Quota meets clusters: what fits under quota must fit on one member."""

import pytest

from hub.offline.inputs.documents import Unreadable
from tests.offline.build import (
    GPU,
    a_flavor,
    a_holder,
    a_member,
    a_pool,
    a_queue,
    a_workload,
    play,
    pods,
)


def test_without_members_there_is_no_cluster() -> None:
    """No MemberCluster: capacity is unlimited and `cluster` is null."""
    played = play(a_queue("q", 100), a_workload("w", "q", 100))
    assert played.of("w")["cluster"] is None
    assert played.verdict("w") == ("admitted", None)


def test_a_member_without_pools_has_unlimited_room() -> None:
    """A MemberCluster that names no node pools holds anything."""
    played = play(a_queue("q", 1000), a_member("m"), a_workload("w", "q", 1000))
    assert played.of("w")["cluster"] == "m"


def test_the_cluster_that_holds_it_is_chosen() -> None:
    """Quota fits twice, room only on one of the members."""
    played = play(
        a_queue("q", 100),
        a_member("small", a_pool(2, cpu=4)),
        a_member("large", a_pool(1, cpu=16)),
        a_workload("w", "q", 8),
    )
    assert played.of("w")["cluster"] == "large"


def test_quota_that_no_cluster_can_hold_stays_free() -> None:
    """Fragmented room: quota fits, no node does; it waits, and who came nearest is said."""
    played = play(
        a_queue("q", 100),
        a_member("m", a_pool(4, cpu=4)),
        a_workload("w", "q", 8),
    )
    assert played.verdict("w") == ("pending", "parked")
    assert played.of("w")["reason"] == "NoClusterFits"
    assert "cluster m misses 4 cpu" in played.of("w")["message"]


def test_a_flavor_is_carried_by_the_pools_with_its_labels() -> None:
    """The first flavor has quota but no nodes in the fleet: the second is assigned."""
    played = play(
        a_flavor("a100", nodeLabels={"gpu": "a100"}),
        a_flavor("t4", nodeLabels={"gpu": "t4"}),
        a_queue("q", {"a100": 8, "t4": 8}, resource=GPU),
        a_member("m", a_pool(1, {"gpu": "t4"}, gpu=8)),
        a_workload("w", "q", 4, resource=GPU),
    )
    assert (played.flavor("w", GPU), played.of("w")["cluster"]) == ("t4", "m")


def test_running_workloads_take_room() -> None:
    """What runs on a member is not free there."""
    played = play(
        a_queue("q", 100),
        a_member("m", a_pool(1, cpu=8)),
        a_member("n", a_pool(1, cpu=6)),
        a_holder("h", "q", 6, cluster="m"),
        a_workload("w", "q", 6),
    )
    assert played.of("w")["cluster"] == "n"


def test_a_gang_stands_on_one_cluster() -> None:
    """All pod sets or none: pods are not spread over members."""
    played = play(
        a_queue("q", 100),
        a_member("m", a_pool(1, cpu=8)),
        a_member("n", a_pool(1, cpu=8)),
        a_workload("w", "q", pod_sets=[pods(6, name="a"), pods(6, name="b")]),
    )
    assert played.verdict("w") == ("pending", "parked")


def test_victims_make_room_on_the_cluster_that_is_named() -> None:
    """Preemption goes on until quota and one cluster have the room, and names that cluster."""
    played = play(
        a_queue("q", 12, within="LowerPriority"),
        a_member("m", a_pool(1, cpu=6)),
        a_member("n", a_pool(1, cpu=6)),
        a_holder("m1", "q", 3, prio=-1, cluster="m", since=-1),
        a_holder("m2", "q", 3, prio=-1, cluster="m", since=-9),
        a_holder("n1", "q", 3, prio=-1, cluster="n", since=-2),
        a_holder("n2", "q", 3, prio=5, cluster="n", since=-3),
        a_workload("w", "q", 6),
    )
    assert played.verdict("w") == ("preempting", "heap")
    assert played.of("w")["cluster"] == "m"
    assert set(played.victims("w")) == {"m1", "m2"}


def test_nodes_that_a_pool_may_add_are_room_where_there_is_none() -> None:
    """maxNodes: an autoscaled pool holds what no node there is can hold, real room goes first."""
    pool = a_pool(0, cpu=4) | {"maxNodes": 2}
    played = play(
        a_queue("q", 100),
        a_member("grows", pool),
        a_member("has", a_pool(1, cpu=4)),
        *[a_workload(name, "q", 4, age=9 - n) for n, name in enumerate("abcd")],
        rounds=5,
    )
    placed = [played.of(name)["cluster"] for name in "abcd"]
    assert placed == ["has", "grows", "grows", None]


def test_nobody_is_preempted_for_room_that_may_come() -> None:
    """Quota fits after one victim; the cluster is full, but its pool may grow: one victim suffices."""
    pool = a_pool(2, cpu=4) | {"maxNodes": 3}
    played = play(
        a_queue("q", 10, within="LowerPriority"),
        a_member("m", pool),
        a_holder("a", "q", 2, prio=-1, cluster="m", since=-1),
        a_holder("b", "q", 2, prio=-1, cluster="m", since=-2),
        a_holder("c", "q", 4, prio=-1, cluster="m", since=-3),
        a_workload("w", "q", 4),
    )
    assert played.verdict("w") == ("preempting", "heap")
    assert set(played.victims("w")) == {"a"}


def test_more_nodes_than_a_pool_may_have_are_refused_as_unreadable() -> None:
    """maxNodes is a whole number; what it is wrong about is named."""
    pool = a_pool(1, cpu=4) | {"maxNodes": "many"}
    with pytest.raises(Unreadable, match=r"status\.pools\[0\]\.maxNodes"):
        play(a_queue("q", 100), a_member("m", pool), a_workload("w", "q", 4))

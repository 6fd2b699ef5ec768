"""Which cluster may take a workload at all: one rule per filter, in the order in which they are asked."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement.framework import sieve
from hub.domain.placement.plugins.affinity import AffinityRequired
from hub.domain.placement.registry import FILTERS, filters
from hub.domain.selectors import PropertyExpression, Taint
from hub.domain.workloads.demand import FOR_GOOD, Constraints
from hub.domain.workloads.placement_policy import Policy, Required
from shared.resources import Toleration
from shared.selectors import LabelSelector
from tests.domain.build import NOW, a_cluster

SECOND = dt.timedelta(seconds=1)
ANY = Constraints()
EAST = LabelSelector((("zone", "east"),))


def reason(cluster: Cluster, constraints: Constraints = ANY) -> tuple[str, str] | None:
    """Why the cluster may not, and in which words; None where it may."""
    sieved = sieve(FILTERS, constraints, [cluster], NOW)
    if sieved.passed:
        return None
    (verdict,) = sieved.rejected
    return verdict.rejection.reason, verdict.rejection.message


def silent(seconds: float) -> Cluster:
    return a_cluster(heartbeat_at=NOW - seconds * SECOND)


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (a_cluster(), None),
        (a_cluster(joined=False), "ClusterNotJoined"),
        (a_cluster(heartbeat_at=None), "AgentNotOnline"),
        (silent(45), None),
        (silent(45.001), "ClusterSilent"),
        (a_cluster(down="timeout"), "ClusterUnhealthy"),
        (a_cluster(cordoned=True), "ClusterCordoned"),
    ],
    ids=str,
)
def test_a_cluster_must_be_there_and_answer(cluster: Cluster, expected: str | None) -> None:
    """Joined, heard of within 45 s, its API server up, not cordoned."""
    found = reason(cluster)
    assert (found and found[0]) == expected


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(46, "46 s"), (119, "119 s"), (120, "2 minutes"), (3600, "60 minutes")],
)
def test_silence_is_told_in_seconds_then_in_minutes(seconds: int, words: str) -> None:
    """Up to two minutes in seconds."""
    assert reason(silent(seconds)) == (
        "ClusterSilent",
        f"its agent has been silent for {words}: see whether it runs there and reaches the hub",
    )


@pytest.mark.parametrize("absent", [{"joined": False}, {"heartbeat_at": None}])
def test_who_has_not_spoken_yet_is_told_how_to(absent: dict[str, Any]) -> None:
    """By name: the token that its agent is started with."""
    found = reason(a_cluster(name="north", **absent))
    assert found is not None
    assert found[1].endswith("start its agent with the token of `roadstead clusters token north`")


def test_how_long_a_cluster_may_be_silent_is_a_setting() -> None:
    """Another limit changes that filter alone; the order stays."""
    rules = filters(10.0)
    assert [r.name for r in rules] == [r.name for r in FILTERS]
    assert sieve(rules, Constraints(), [silent(10)], NOW).passed == {"c"}
    assert not sieve(rules, Constraints(), [silent(10.5)], NOW).passed


def test_an_api_server_that_is_down_is_told_with_its_reason() -> None:
    """What the agent said of it is quoted."""
    found = reason(a_cluster(down="timeout"))
    assert found == (
        "ClusterUnhealthy",
        "its API server does not answer (timeout): it is picked again once it does",
    )


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (Constraints(clusters=("c", "x")), None),
        (Constraints(clusters=("b", "x")), "annotation roadstead.dev/clusters names b, x"),
        (Constraints(clusters=()), "annotation roadstead.dev/clusters names "),
        (Constraints(members=("c",)), None),
        (Constraints(members=()), "the queue's MultiKueueConfig does not name it"),
        (Constraints(clusters=("c",), members=("x",)), "the queue's MultiKueueConfig does not name it"),
        (Constraints(selector=EAST), None),
        (
            Constraints(selector=LabelSelector((("zone", "west"),))),
            "its labels do not match annotation roadstead.dev/cluster-selector",
        ),
        (Constraints(policy=Policy("PickFixed", cluster_names=("c",))), None),
        (Constraints(policy=Policy("PickFixed", cluster_names=("x",))), "the placement does not name it"),
        (Constraints(policy=Policy("PickFixed")), "the placement does not name it"),
        (Constraints(policy=Policy("PickN", 1, cluster_names=("x",))), None),
        (Constraints(policy=Policy("PickAll", cluster_names=("x",))), None),
    ],
)  # fmt: skip
def test_named_clusters(constraints: Constraints, message: str | None) -> None:
    """Annotations, the queue's MultiKueueConfig and a PickFixed placement each leave out the others."""
    found = reason(a_cluster(labels={"zone": "east"}), constraints)
    assert found == (None if message is None else ("ClusterNotSelected", message))


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        (NOW - SECOND, None),
        (NOW, None),
        (NOW + SECOND, ("ClusterSetAside", "tried before; set aside until 2026-01-01T12:00:01Z")),
        (
            FOR_GOOD,
            (
                "RefusedByMember",
                "its own rules forbid this job; the job's events name field and rule",
            ),
        ),
    ],
)
def test_a_cluster_is_set_aside_until_its_instant(
    until: dt.datetime, expected: tuple[str, str] | None
) -> None:
    """At that instant it may again; the one whose rules forbid the job never."""
    constraints = Constraints(set_aside=(("b", FOR_GOOD), ("c", until)))
    assert reason(a_cluster(), constraints) == expected


def test_the_next_instant_at_which_time_changes_the_answer() -> None:
    """The earliest end of being set aside that is still to come, not counting what is for good."""
    until = (
        ("a", NOW),
        ("b", NOW + 3 * SECOND),
        ("c", NOW + 2 * SECOND),
        ("d", FOR_GOOD),
        ("e", NOW - SECOND),
    )
    constraints = Constraints(set_aside=until)
    assert sieve(FILTERS, constraints, [a_cluster()], NOW).again_at == NOW + 2 * SECOND
    only = Constraints(set_aside=(("a", NOW), ("d", FOR_GOOD)))
    assert sieve(FILTERS, only, [a_cluster()], NOW).again_at is None


@pytest.mark.parametrize(
    ("kinds", "kind", "expected"),
    [
        (None, "batch/v1/Job", None),
        (frozenset({"batch/v1/Job"}), "batch/v1/Job", None),
        (frozenset({"apps/v1/Deployment"}), "", None),
        (frozenset({"apps/v1/Deployment"}), "batch/v1/Job", "batch/v1/Job is not served there"),
        (frozenset(), "batch/v1/Job", "batch/v1/Job is not served there"),
    ],
)
def test_the_kind_must_be_served(
    kinds: frozenset[str] | None, kind: str, expected: str | None
) -> None:
    """A cluster that told nothing of its kinds is given the benefit of the doubt."""
    found = reason(a_cluster(kinds=kinds), Constraints(kind=kind))
    assert found == (None if expected is None else ("KindNotServed", expected))


def test_whoever_names_clusters_means_them_taints_or_not() -> None:
    """PickFixed asks for no toleration."""
    cluster = a_cluster(taints=(Taint("a", "b", "NoSchedule"),))
    named = Policy("PickFixed", cluster_names=(cluster.name,))
    assert reason(cluster, Constraints(policy=named)) is None
    assert reason(cluster, Constraints(policy=Policy("PickN", 1))) is not None


def test_taints_of_the_cluster_must_be_tolerated() -> None:
    """The first that is not is named; PreferNoSchedule keeps nobody away."""
    taints = Taint("soft", "", "PreferNoSchedule"), Taint("a", "b", "NoSchedule")
    cluster = a_cluster(taints=taints)
    assert reason(cluster) == ("UntoleratedTaint", "taint a=b:NoSchedule is not tolerated")
    tolerant = Constraints(tolerations=(Toleration("a", "Equal", "b"),))
    assert reason(cluster, tolerant) is None


def _required(*terms: Required) -> Constraints:
    return Constraints(policy=Policy("PickN", 1, required=terms))


def _at_least(name: str) -> PropertyExpression:
    return PropertyExpression(name, "Ge", Decimal(4), "4")


@pytest.mark.parametrize(
    ("name", "found"),
    [("few", "3.5"), ("many", None), ("broken", "unreadable"), ("none", "missing")],
)
def test_what_a_required_property_is_instead(name: str, found: str | None) -> None:
    """Too little is told in numbers; what can not be read is told apart from what is not there."""
    cluster = a_cluster(properties={"few": "3500m", "many": "4", "broken": "much"})
    rejected = reason(cluster, _required(Required(properties=(_at_least(name),))))
    told = found and ("AffinityNotMatched", f"required {name} Ge 4, it is {found}")
    assert rejected == told


def test_one_term_of_required_affinity_suffices() -> None:
    """Of terms none of which holds, each is told; labels and properties of one term must both hold."""
    cluster = a_cluster(labels={"zone": "east"}, properties={"p": "1"})
    west = Required(LabelSelector((("zone", "west"),)))
    poor = Required(EAST, (_at_least("p"),))
    assert reason(cluster, _required(west, poor)) == (
        "AffinityNotMatched",
        "its labels do not match the required affinity; required p Ge 4, it is 1",
    )
    assert reason(cluster, _required(west, Required(EAST))) is None
    assert AffinityRequired().reject(Constraints(policy=Policy()), cluster, NOW) is None


def test_the_first_filter_that_says_no_is_told_and_clusters_by_name() -> None:
    """One reason per cluster, the most telling one."""
    plain: dict[str, Any] = {"cordoned": True, "joined": False}
    clusters = [a_cluster(name=name, **plain) for name in ("b", "a")]
    clusters.append(replace(a_cluster(name="ok"), cordoned=False))
    sieved = sieve(
        FILTERS, Constraints(kind="x/y", is_job=False), {c.name: c for c in clusters}, NOW
    )
    told = [(v.cluster, v.rejection.reason) for v in sieved.rejected]
    assert told == [("a", "ClusterNotJoined"), ("b", "ClusterNotJoined")]
    assert sieved.passed == {"ok"}


def test_a_cluster_that_is_avoided_is_refused_with_the_reason() -> None:
    """Its people have stopped the queue there: others come first."""
    avoided = Constraints(avoided=(a_cluster().name,))
    assert (reason(a_cluster(), avoided) or ("",))[0] == "MemberQueueStopped"
    assert reason(a_cluster(), Constraints(avoided=("another",))) is None


OPERATED = Constraints(kind="JobSet.jobset.x-k8s.io", is_job=True)


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (a_cluster(protocol=7, kinds=frozenset({OPERATED.kind})), None),
        (a_cluster(protocol=7, kinds=frozenset()), "KindNotServed"),
        (a_cluster(protocol=7, kinds=None), "KindNotServed"),
        (a_cluster(protocol=6, kinds=frozenset({OPERATED.kind})), "AgentTooOld"),
    ],
    ids=["served", "not served", "not told", "older agent"],
)
def test_a_job_of_another_kind_needs_a_member_that_runs_it(
    cluster: Cluster, expected: str | None
) -> None:
    """The member has told that it serves the kind, and its agent knows how to run one."""
    found = reason(cluster, OPERATED)
    assert (found and found[0]) == expected


def test_an_object_goes_where_the_kinds_are_not_known_yet() -> None:
    """An object that no queue placed is refused only by a member that told its kinds without this one."""
    wanted = Constraints(kind="ConfigMap", is_job=False)
    assert reason(a_cluster(kinds=None), wanted) is None
    found = reason(a_cluster(kinds=frozenset({"Secret"})), wanted)
    assert found is not None
    assert found[0] == "KindNotServed"

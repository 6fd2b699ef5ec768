"""Why no cluster holds a demand, in numbers: one verdict each, and who came nearest."""

from typing import Any

import pytest

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Miss, Refusal
from hub.domain.selectors import Taint
from hub.domain.workloads.demand import FOR_GOOD, Constraints
from shared.resources import Expression, NodeTerm
from tests.domain.build import (
    NOW,
    PLENTY,
    a_cluster,
    a_demand,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot,
    decide,
    growing,
    refusal,
)

SSD: dict[str, Any] = {"node_selector": (("disk", "ssd"),)}
TAINTED: dict[str, Any] = {"taints": [Taint("gpu", "yes", "NoSchedule")]}

STOPPED = (
    "no node that its pods tolerate is large enough for one pod of main (cpu 3): those of cluster c "
    "have taint gpu=yes:NoSchedule, which a toleration would admit"
)


def refused(*clusters: Cluster, constraints: Constraints | None = None, **pod: Any) -> Refusal:
    """Of one pod set (3 cpu) that no cluster holds."""
    pod_set = a_pod_set(**{"requests": {"cpu": 3}, **pod})
    demand = a_demand(pod_set, constraints=constraints or Constraints())
    queue = a_queue(cpu=PLENTY, memory=PLENTY, gpu=PLENTY)
    return refusal(
        decide(a_snapshot([a_lane(demand, "w")], clusters, queue, key_revisions={"disk": 2}))
    )


def told(found: Refusal) -> dict[str, tuple[str, str]]:
    return {v.cluster: (v.rejection.reason, v.rejection.message) for v in found.clusters}


@pytest.mark.parametrize(
    ("cluster", "pod", "expected"),
    [
        (a_cluster(a_pool(cpu=2), a_pool(cpu=1)), {},
         ("InsufficientRoom", "misses 1 cpu on one node")),
        (a_cluster(a_pool(cpu=9, memory=1)), {"requests": {"cpu": 3, "memory": 3}},
         ("InsufficientRoom", "misses 2 memory on one node")),
        (a_cluster(a_pool(cpu=7)), {"count": 3},
         ("InsufficientRoom", "has room for 2 of 3 pods")),
        (a_cluster(growing=(growing(2),)), {"count": 3},
         ("InsufficientRoom", "has room for 2 of 3 pods, nodes that its pools may add included")),
        (a_cluster(a_pool(cpu=9)), {"requests": {"gpu": 1}},
         ("NoSuchResource", "no node has nvidia.com/gpu")),
        (a_cluster(a_pool(cpu=9, **TAINTED)), {},
         ("UntoleratedTaint", "its nodes have taint gpu=yes:NoSchedule")),
        (a_cluster(a_pool(cpu=1), a_pool(cpu=9, **TAINTED)), {},
         ("UntoleratedTaint", "its nodes that are large enough have taint gpu=yes:NoSchedule")),
        (a_cluster(a_pool(cpu=2), a_pool(cpu=2, **TAINTED)), {},
         ("InsufficientRoom", "misses 1 cpu on one node")),
        (a_cluster(a_pool(cpu=9), pools_revision=2), SSD,
         ("NoNodesMatch", "it has no nodes with disk=ssd")),
        (a_cluster(a_pool(cpu=9), pools_revision=1), SSD,
         ("AwaitingReport", "its agent has not yet reported nodes by the requested labels")),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)  # fmt: skip
def test_one_verdict_per_cluster(
    cluster: Cluster, pod: dict[str, Any], expected: tuple[str, str]
) -> None:
    """What one pod lacks, how many there is room for, or why no node is for them."""
    assert told(refused(cluster, **pod)) == {"c": expected}


def test_gangs_that_only_fit_apart() -> None:
    """Each of two pod sets fits, both do not: nobody is nearest."""
    sets = [a_pod_set(name=name, requests={"cpu": 3}) for name in "ab"]
    lane = a_lane(a_demand(*sets), "w")
    plan = decide(a_snapshot([lane], [a_cluster(a_pool(cpu=4))]))
    found = refusal(plan)
    assert told(found)["c"][1] == "its nodes can not hold all pod sets together"
    assert (found.nearest, found.message) == (None, "no cluster has the room")


def test_nearest_is_room_for_most_pods_then_what_lacks_least() -> None:
    """Verdicts go from the nearest to the farthest; what no node could hold comes last."""
    clusters = [
        a_cluster(a_pool(cpu=1), name="lacks-2"),
        a_cluster(a_pool(cpu=3), name="one"),
        a_cluster(a_pool(cpu=7), name="two"),
        a_cluster(a_pool(cpu=2), name="lacks-1"),
        a_cluster(name="empty"),
    ]
    found = refused(*clusters, count=3)
    assert list(told(found)) == ["two", "one", "lacks-1", "lacks-2", "empty"]
    assert told(found)["empty"] == ("NoNodes", "it has reported no node that is ready")
    assert found.nearest == Miss("two", "main", {}, 2, 3)
    assert found.message == "nearest miss: cluster two has room for 2 of 3 pods"


def test_what_the_nearest_misses_is_told_of_its_best_node() -> None:
    """All resources that it lacks, by name; nothing of what suffices."""
    pools = [a_pool(cpu=1, memory=1), a_pool(cpu=2, memory=2), a_pool(cpu=0, memory=9)]
    found = refused(a_cluster(*pools), requests={"cpu": 3, "memory": 3})
    assert found.nearest == Miss("c", "main", {"cpu": 1000, "memory": 1}, 0, 1)
    assert "cluster c misses 1 cpu, 1 memory on one node" in found.message


def test_the_first_pod_set_that_does_not_fit_is_told() -> None:
    """Its name, and how far it is."""
    small, large = a_pod_set(name="small"), a_pod_set(name="large", requests={"cpu": 5})
    lane = a_lane(a_demand(small, large), "w")
    found = refusal(decide(a_snapshot([lane], [a_cluster(a_pool(cpu=4))])))
    assert found.nearest == Miss("c", "large", {"cpu": 1000}, 0, 1)


@pytest.mark.parametrize(
    ("cluster", "pod", "message"),
    [
        (a_cluster(a_pool(cpu=2)), {"requests": {"cpu": 3, "memory": 1}}, "no member has memory"),
        (a_cluster(a_pool(cpu=2), pools_revision=2), SSD, "no member has nodes with disk=ssd"),
        (a_cluster(a_pool(cpu=2), pools_revision=1), SSD,
         "not all members have reported their nodes by the requested labels yet"),
        (a_cluster(a_pool(cpu=2)), {},
         "no node of any member is large enough for one pod of main (cpu 3)"),
        (a_cluster(a_pool(cpu=3, used={"cpu": 1})), {}, ""),
        (a_cluster(a_pool(cpu=9, **TAINTED)), {},
         STOPPED),
        (a_cluster(a_pool(cpu=2), growing=(growing(1, cpu=3, taints=TAINTED["taints"]),)), {},
         STOPPED),
        (a_cluster(a_pool(cpu=2, **TAINTED)), {},
         "no node of any member is large enough for one pod of main (cpu 3)"),
    ],
)  # fmt: skip
def test_what_no_member_has_is_said_first(
    cluster: Cluster, pod: dict[str, Any], message: str
) -> None:
    """However empty they were; nothing of the kind where one is merely full."""
    found = refused(cluster, **pod)
    assert found.message.startswith(message or "nearest miss: cluster c misses 1 cpu")


def test_affinity_is_not_spelled_out() -> None:
    """Node labels are; of terms it is said that there are some."""
    terms = (NodeTerm((Expression("disk", "In", ("ssd",)),)),)
    found = refused(a_cluster(a_pool(cpu=9), pools_revision=2), affinity_terms=terms)
    words = "what the required node affinity asks for"
    assert told(found)["c"] == ("NoNodesMatch", f"it has no nodes with {words}")


def test_where_no_cluster_may_take_it_the_first_three_are_told() -> None:
    """Each with why, by name; and the instant from which on that may change."""
    clusters = [a_cluster(a_pool(cpu=9), name=name, cordoned=True) for name in "dcba"]
    found = refused(*clusters)
    assert found.reason == "NoClusterMatches"
    assert found.message == (
        "none of 4 clusters may take it: "
        + "; ".join(f"{name}: the cluster is cordoned" for name in "abc")
    )
    assert list(told(found)) == list("abcd")
    aside = Constraints(set_aside=(("c", FOR_GOOD.replace(year=2030)),))
    assert refused(a_cluster(a_pool(cpu=9)), constraints=aside).retry_at == FOR_GOOD.replace(
        year=2030
    )
    assert found.retry_at is None


def test_an_empty_fleet_is_called_one() -> None:
    """There is no cluster to tell anything of."""
    found = refused()
    assert (found.reason, found.message) == ("NoClusterMatches", "the fleet has no cluster")


def test_an_explanation_lists_fifty_clusters() -> None:
    """Those without room first, then those that may not."""
    full = [a_cluster(a_pool(cpu=1), name=f"f{n:02}") for n in range(45)]
    closed = [a_cluster(name=f"x{n:02}", heartbeat_at=NOW, cordoned=True) for n in range(10)]
    found = refused(*full, *closed)
    assert len(found.clusters) == 50
    assert [v.rejection.reason for v in found.clusters[44:46]] == [
        "InsufficientRoom",
        "ClusterCordoned",
    ]


def test_a_member_that_has_yet_to_report_is_named_first() -> None:
    """It is large enough: nothing is claimed of all members while its agent's word is missing."""
    small = a_cluster(a_pool(cpu=2), name="small", consent={"team": "Absent"})
    silent = a_cluster(a_pool(cpu=9), name="silent", consent={})
    found = refused(small, silent, constraints=Constraints(consent=("team", "hub-1")))
    assert found.message == (
        "silent: its agent has yet to report whether namespace team accepts this hub; no node of any member "
        "that may take it is large enough for one pod of main (cpu 3); cluster small misses 1 cpu on one node"
    )


def test_a_member_that_is_too_small_anyhow_is_not_waited_for() -> None:
    """Its report would change nothing."""
    small = a_cluster(a_pool(cpu=2), name="small", consent={"team": "Absent"})
    silent = a_cluster(a_pool(cpu=1), name="silent", consent={})
    found = refused(small, silent, constraints=Constraints(consent=("team", "hub-1")))
    assert found.message.startswith("no node of any member that may take it is large enough")

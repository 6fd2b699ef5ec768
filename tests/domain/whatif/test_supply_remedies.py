"""What would let a waiting workload in: more quota, another fleet, other constraints, fewer pods."""

from dataclasses import replace
from typing import Any

import pytest

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.fleet.clusters import Cluster
from hub.domain.quota.declared import ClusterQueue, FlavorResource, Quota
from hub.domain.whatif.remedies import remedies
from hub.domain.whatif.remedy import Remedy
from hub.domain.workloads.demand import FOR_GOOD, Constraints
from shared.selectors import LabelSelector
from tests.domain.build import PLENTY, a_cluster, a_demand, a_flavor, a_pod_set, a_pool, a_queue
from tests.domain.whatif.pictures import CPU, a_holder, a_picture, a_trial, found

THREE = a_demand(a_pod_set(requests={"cpu": 3}))
WEST = LabelSelector((("zone", "west"),))


def in_cohort(limit: int | None = None) -> list[ClusterQueue]:
    """q with four cpu, that may borrow `limit`, and r with ten, in one cohort."""
    q, r = a_queue(cpu=4), a_queue(name="r", cpu=10)
    quotas = {of: replace(quota, borrowing_limit=limit) for of, quota in q.quotas.items()}
    return [replace(q, cohort="all", quotas=quotas), replace(r, cohort="all")]


def all_of(picture: Any, demand: Any, kind: str) -> list[Remedy]:
    return [r for r in remedies(a_trial(picture, demand), {}) if r.kind == kind]


def test_as_much_more_quota_as_is_missing() -> None:
    """Three asked, one free: two more."""
    quota = found(a_picture([a_holder("h", 3)]), THREE)["Quota"]
    assert (quota.amounts, quota.rest) == (((CPU, 2000),), "")


def test_the_most_that_any_pod_set_lacks_is_raised() -> None:
    """The second pod set lacks what the first one takes too: it is not counted twice."""
    two = a_demand(
        a_pod_set(name="a", requests={"cpu": 3}), a_pod_set(name="b", requests={"cpu": 3})
    )
    assert found(a_picture([a_holder("h", 3)]), two)["Quota"].amounts == ((CPU, 5000),)


def test_more_quota_of_each_flavor_that_would_do_alone() -> None:
    """One answer per flavor, of three at most."""
    flavors = ("a", "b", "c", "d")
    picture = a_picture((), a_queue(flavors=flavors, cpu=1))
    told = [r.amounts for r in all_of(picture, THREE, "Quota")]
    assert told == [((FlavorResource(f, "cpu"), 2000),) for f in "abc"]


@pytest.mark.parametrize("used", [0, 1])
def test_where_one_group_is_not_enough_others_are_raised_with_it(used: int) -> None:
    """Two groups of resources, each short: one answer for both, whichever the search names first."""
    cpu, memory = a_queue(cpu=1 + used, flavors=("a",)), a_queue(memory=1 + used, flavors=("b",))
    queue = replace(
        cpu, groups=(*cpu.groups, *memory.groups), quotas={**cpu.quotas, **memory.quotas}
    )
    of_cpu, of_memory = FlavorResource("a", "cpu"), FlavorResource("b", "memory")
    holders = [a_holder("h", usage={of_cpu: 1000, of_memory: 1})] * used
    picture = a_picture(holders, queue, clusters=[a_cluster(a_pool(cpu=9, memory=9))])
    asked = a_demand(a_pod_set(requests={"cpu": 2, "memory": 3}))
    (only,) = all_of(picture, asked, "Quota")
    assert only.amounts == ((of_cpu, 1000), (of_memory, 2))


def test_more_quota_is_told_with_what_clusters_lack() -> None:
    """Quota alone would not do, nor would a node: both together are one remedy."""
    picture = a_picture([a_holder("h", 3)], clusters=[a_cluster(a_pool(cpu=2))])
    told = found(picture, THREE)
    assert "Quota" not in told
    assert (told["Nodes"].amounts, told["Nodes"].number) == (((CPU, 2000),), 1)
    assert told["Nodes"].pod == (("cpu", 3000),)


def test_more_quota_is_told_with_what_nodes_would_not_mend() -> None:
    """The only cluster is cordoned: no node helps, and the remedy names what is missing beside quota."""
    closed = replace(a_cluster(a_pool(cpu=9)), cordoned=True)
    quota = found(a_picture([a_holder("h", 3)], clusters=[closed]), THREE)["Quota"]
    assert quota.amounts == ((CPU, 2000),)
    assert "may take it" in quota.rest


def test_nodes_that_no_cluster_has_are_a_remedy() -> None:
    """Of a flavor whose labels no node has: a node with them, on a cluster that may take it."""
    catalog = FlavorCatalog({"any": a_flavor("any", type="h100")}, {"type": 0})
    fleet = [a_cluster(a_pool(cpu=9), name=name) for name in ("b", "a")]
    nodes = found(a_picture((), clusters=fleet, catalog=catalog), THREE)["Nodes"]
    assert (nodes.cluster, nodes.number, nodes.labels) == ("a", 1, (("type", "h100"),))


def test_remedies_that_suffice_come_first() -> None:
    """Others would leave something missing."""
    picture = a_picture([a_holder("h", 3)], clusters=[a_cluster(a_pool(cpu=2))])
    rests = [bool(each.rest) for each in found(picture, THREE).values()]
    assert rests == sorted(rests)
    assert len(set(rests)) == 2


def test_a_higher_borrowing_limit() -> None:
    """What it lacks beyond its limit; none where it has no limit or the cohort has no more."""
    seven = a_demand(a_pod_set(requests={"cpu": 7}))
    raised = found(a_picture((), *in_cohort(limit=1000)), seven)["BorrowingLimit"]
    assert raised.amounts == ((CPU, 2000),)
    full = a_picture([a_holder("h", 14, "r")], *in_cohort())
    assert "BorrowingLimit" not in found(full, seven)
    lent = a_picture([a_holder("h", 10, "r")], *in_cohort(limit=1000))
    assert "BorrowingLimit" not in found(lent, seven)


def test_resources_without_quota_can_not_be_raised() -> None:
    """What the queue does not declare lacks more than an amount."""
    asked = a_demand(a_pod_set(requests={"cpu": 1, "gpu": 1}))
    picture = a_picture((), clusters=[a_cluster(a_pool(cpu=9, gpu=9))])
    assert "Quota" not in found(picture, asked)


def full_fleet(*more: Cluster) -> list[Cluster]:
    """One cluster with one node of two cpu, and others."""
    return [a_cluster(a_pool(cpu=2), name="small"), *more]


def waiting_for(*more: Cluster, **constraints: Any) -> dict[str, Remedy]:
    """What would do for a pod of three cpu with quota and no cluster that holds it."""
    demand = a_demand(a_pod_set(requests={"cpu": 3}), constraints=Constraints(**constraints))
    return found(a_picture((), a_queue(cpu=PLENTY), clusters=full_fleet(*more)), demand)


def test_a_cordoned_cluster_that_would_hold_it() -> None:
    """The first by name of those that would; one that is too small is not named."""
    told = waiting_for(
        a_cluster(a_pool(cpu=1), name="a", cordoned=True),
        a_cluster(a_pool(cpu=4), name="b", cordoned=True),
        a_cluster(a_pool(cpu=4), name="c", cordoned=True),
    )
    assert told["Uncordon"].cluster == "b"
    assert "Uncordon" not in waiting_for()


def test_nodes_are_told_beside_a_cordon() -> None:
    """How many the nearest cluster lacks is a matter of the fleet as it is, not of one looked at since."""
    told = waiting_for(a_cluster(a_pool(cpu=4), name="b", cordoned=True))
    assert told["Uncordon"].cluster == "b"
    assert (told["Nodes"].cluster, told["Nodes"].number) == ("small", 1)


def test_no_more_than_three_cordoned_clusters_are_tried() -> None:
    """In a fleet with many the first by name."""
    small = [a_cluster(a_pool(cpu=1), name=f"a{n}", cordoned=True) for n in range(3)]
    large = a_cluster(a_pool(cpu=4), name="b", cordoned=True)
    assert "Uncordon" in waiting_for(*small[:2], large)
    assert "Uncordon" not in waiting_for(*small, large)


@pytest.mark.parametrize(
    "constraints",
    [{"clusters": ("small",)}, {"selector": WEST}, {"clusters": (), "selector": WEST}],
)
def test_constraints_of_its_own_that_keep_it_out(constraints: dict[str, Any]) -> None:
    """Names and selector go together."""
    large = a_cluster(a_pool(cpu=4), name="large")
    assert "Constraints" in waiting_for(large, **constraints)
    assert "Constraints" not in waiting_for(**constraints)


def test_a_cluster_that_is_set_aside() -> None:
    """The one that it avoids is named."""
    large = a_cluster(a_pool(cpu=4), name="large")
    told = waiting_for(large, set_aside=(("large", FOR_GOOD),))
    assert told["SetAside"].cluster == "large"
    assert "Constraints" not in told
    assert "SetAside" not in waiting_for(large)


@pytest.mark.parametrize(("count", "number"), [(1, 1), (3, 2)])
def test_as_many_nodes_as_the_nearest_cluster_lacks(count: int, number: int) -> None:
    """Each holds one pod; what is free already is counted."""
    demand = a_demand(a_pod_set(count=count, requests={"cpu": 3, "memory": 2}))
    clusters = [a_cluster(a_pool(cpu=3, memory=2) if count > 1 else a_pool(cpu=2, memory=2))]
    queue = a_queue(cpu=PLENTY, memory=PLENTY)
    nodes = found(a_picture((), queue, clusters=clusters), demand)["Nodes"]
    assert (nodes.number, nodes.cluster) == (number, "c")
    assert nodes.pod == (("cpu", 3000), ("memory", 2))


def test_new_nodes_bear_the_labels_that_are_asked_for() -> None:
    """What the pods select is told; a pool that they may use shows what else its nodes bear."""
    labels = {"disk": "ssd", "rack": "1"}
    pod_set = a_pod_set(requests={"cpu": 3}, node_selector=(("disk", "ssd"),))
    for pools in ([a_pool(cpu=2, labels=labels)], [a_pool(cpu=9), a_pool(cpu=2, labels=labels)]):
        picture = a_picture((), a_queue(cpu=PLENTY), clusters=[a_cluster(*pools)])
        picture = replace(picture, catalog=replace(picture.catalog, key_revisions={"disk": 0}))
        nodes = found(picture, a_demand(pod_set))["Nodes"]
        assert (nodes.number, nodes.labels) == (1, (("disk", "ssd"),))


@pytest.mark.parametrize(("cpu", "number"), [(1, None), (2, 1), (4, 2), (5, 2), (7, 3)])
def test_the_most_pods_that_would_be_admitted(cpu: int, number: int | None) -> None:
    """Four pods of two cpu: as many as quota holds, at least one and less than all."""
    demand = a_demand(a_pod_set(count=4, requests={"cpu": 2}))
    fewer = found(a_picture((), a_queue(cpu=cpu)), demand).get("FewerPods")
    assert (fewer and fewer.number) == number


@pytest.mark.parametrize(
    "sets", [[a_pod_set(requests={"cpu": 9})], [a_pod_set(count=9, name=n) for n in "ab"]]
)
def test_one_pod_and_gangs_of_several_kinds_do_not_shrink(sets: list[Any]) -> None:
    """Only a single pod set of several pods may do with fewer."""
    assert "FewerPods" not in found(a_picture(), a_demand(*sets))


def test_a_queues_quotas_stay_as_they_are() -> None:
    """What was tried leaves no trace."""
    picture = a_picture([a_holder("h", 3)])
    trial = a_trial(picture, THREE)
    remedies(trial, {})
    assert trial.queue.quotas == {CPU: Quota(4000)}
    assert picture.ledger.available("q", CPU) == 1000

"""What no member could ever hold is known when it is submitted, with the nearest miss."""

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.fleet.clusters import Cluster, GrowingPool
from hub.domain.fleet.free_capacity import Layout
from hub.domain.placement.never_fits import why_never
from hub.domain.workloads.demand import Constraints
from shared.resources import PodSet
from tests.domain.build import a_cluster, a_pod_set, a_pool, amounts

ANYWHERE = Constraints()


def why(
    pod_set: PodSet, *fleet: Cluster, known: int = 0, constraints: Constraints = ANYWHERE
) -> str:
    keys = dict.fromkeys(("disk",), known)
    asks = [FlavorCatalog({}, keys).ask(pod_set)._replace(growing=True)]
    return why_never([pod_set], asks, constraints, {c.name: c for c in fleet}, Layout(fleet))


def test_a_full_member_could_hold_it_later() -> None:
    """What is in use now says nothing of ever."""
    assert why(a_pod_set(), a_cluster(a_pool(cpu=4, used={"cpu": 4}))) == ""


def test_a_pod_larger_than_any_node_is_told_with_the_nearest_miss() -> None:
    """No node of 8 cpus holds a pod of 10, however many there are."""
    told = why(a_pod_set(requests={"cpu": 10}), a_cluster(a_pool(nodes=9, cpu=8), name="north"))
    assert told == (
        "no node of any member is large enough for one pod of main (cpu 10); "
        "nearest miss: cluster north misses 2 cpu on one node"
    )


def test_a_gang_larger_than_any_member_is_told() -> None:
    """Nine pods that need a node each, and no member of nine nodes."""
    gang = a_pod_set(count=9, requests={"cpu": 6})
    fleet = [a_cluster(a_pool(nodes=n, cpu=8), name=f"m{n}") for n in (4, 7)]
    assert why(gang, *fleet) == "nearest miss: cluster m7 has room for 7 of 9 pods"


def test_nodes_that_pools_may_add_count() -> None:
    """A pool that may still add the nodes can hold it one day."""
    pool = GrowingPool("burst", {}, (), amounts({"cpu": 8}), 5)
    grows = a_cluster(a_pool(nodes=4, cpu=8), growing=(pool,))
    assert why(a_pod_set(count=9, requests={"cpu": 6}), grows) == ""


def test_a_resource_that_nobody_has_is_named() -> None:
    """No member has the device."""
    assert why(a_pod_set(requests={"gpu": 1}), a_cluster(a_pool(cpu=4))).startswith(
        "no member has nvidia.com/gpu"
    )


def test_a_restriction_that_no_member_meets_is_told() -> None:
    """Only named clusters count."""
    told = why(a_pod_set(), a_cluster(a_pool(cpu=4)), constraints=Constraints(clusters=("mars",)))
    assert told.startswith("none of 1 clusters may take it")


def test_a_cluster_that_does_not_exist_is_named_once() -> None:
    """Not once for each member that is another one."""
    constraints = Constraints(clusters=("nosuch",))
    fleet = [a_cluster(a_pool(cpu=4), name=name) for name in ("a", "b")]
    told = why(a_pod_set(), *fleet, constraints=constraints)
    assert told == (
        "none of 2 clusters may take it: annotation roadstead.dev/clusters names nosuch, and the fleet has "
        "no such cluster"
    )


def test_before_members_have_reported_nothing_is_concluded() -> None:
    """An empty fleet, and a label that agents were not asked about yet, are no verdict."""
    assert why(a_pod_set(requests={"cpu": 99}), a_cluster()) == ""
    selects = a_pod_set(node_selector=(("disk", "ssd"),))
    assert why(selects, a_cluster(a_pool(cpu=4)), known=3) == ""
    assert why(selects, a_cluster(a_pool(cpu=4))) != ""


def test_one_member_that_has_not_answered_yet_is_enough_to_wait_for() -> None:
    """Of two that were asked about a label, the one that has told may not speak for the other."""
    selects = a_pod_set(node_selector=(("disk", "ssd"),))
    told = a_cluster(a_pool(cpu=4), name="told", pools_revision=3)
    assert why(selects, told, a_cluster(a_pool(cpu=4), name="asked"), known=3) == ""
    assert why(selects, told, known=3) != ""

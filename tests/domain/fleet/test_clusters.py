"""A member as it was declared and reported: what it has, in Kubernetes' numbers."""

from decimal import Decimal
from typing import Any

import pytest

from hub.domain.fleet.clusters import (
    MOST_NEW_NODES,
    BoundPods,
    Cluster,
    dynamic_resource,
    with_report,
)
from hub.domain.selectors import Taint
from tests.domain.build import a_cluster, a_pool

PREFIX = "resources.kubernetes-fleet.io/"
BARE = Cluster("c")


def a_report(**given: Any) -> dict[str, Any]:
    """Two pools of one node: 4 cpu of which 1 is free, 2 cpu of which 3 too many are used."""
    pools = [
        {"labels": {}, "resources": ["cpu", "memory"],
         "nodes": [{"name": "n", "allocatable": [4000, 64], "free": [1000, 32]}]},
        {"labels": {"a": "b"}, "resources": ["cpu"], "taints": [{"key": "t", "effect": "NoSchedule"}],
         "nodes": [{"name": "m", "allocatable": [2000], "free": [-3000]}]},
    ]  # fmt: skip
    return {"pools_revision": 7, "pools": pools, **given}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (PREFIX + "available-cpu", Decimal("1.5")),
        (PREFIX + "total-cpu", Decimal(4)),
        (PREFIX + "allocatable-cpu", Decimal(4)),
        (PREFIX + "available-memory", Decimal(64)),
        (PREFIX + "available-nvidia.com/gpu", None),
        (PREFIX + "total-nvidia.com/gpu", None),
        (PREFIX + "free-cpu", None),
        (PREFIX + "cpu", None),
        ("kubernetes-fleet.io/node-count", Decimal(3)),
        ("price", Decimal("0.25")),
        ("broken", None),
        ("absent", None),
    ],
)
def test_properties_of_a_cluster(name: str, value: Decimal | None) -> None:
    """Cores rather than milli-cores; available is free less what is promised; what is not there is none."""
    cluster = a_cluster(
        a_pool(cpu=4, memory=64, used={"cpu": 1}), node_count=3, reserved={"cpu": 1500},
        properties={"price": "250m", "broken": "much"},
    )  # fmt: skip
    assert cluster.measure(name) == value
    assert cluster.unreadable(name) == (name == "broken")


def test_available_never_falls_below_nothing() -> None:
    """More may be promised than is free."""
    cluster = a_cluster(a_pool(cpu=1), reserved={"cpu": 1001, "gpu": 1})
    assert (cluster.available("cpu"), cluster.available("gpu")) == (0, None)


def test_a_node_count_that_is_told_as_property_goes_first() -> None:
    """The agent's own word; without nodes nothing is said."""
    told = a_cluster(properties={"kubernetes-fleet.io/node-count": "9"}, node_count=3)
    assert told.measure("kubernetes-fleet.io/node-count") == 9
    assert a_cluster().measure("kubernetes-fleet.io/node-count") is None


def test_only_what_is_available_shrinks_while_room_is_taken() -> None:
    """Totals do not."""
    assert dynamic_resource(PREFIX + "available-nvidia.com/gpu") == "nvidia.com/gpu"
    assert dynamic_resource(PREFIX + "total-cpu") is None
    assert dynamic_resource("available-cpu") is None


def test_a_report_is_summed_over_pools() -> None:
    """Overcommitted nodes count as they are; a resource that some nodes lack is that of the others."""
    cluster = with_report(BARE, a_report())
    assert cluster.free == {"cpu": -2000, "memory": 32}
    assert cluster.allocatable == {"cpu": 6000, "memory": 64}
    assert (cluster.node_count, cluster.pools_revision) == (2, 7)
    assert cluster.pools[1].taints == (Taint("t", "", "NoSchedule"),)
    assert with_report(BARE, a_report(node_count=5)).node_count == 5


def test_what_else_a_report_tells() -> None:
    """Bound pods by work, kinds served, queue managers, and why the API server is down."""
    bound = [{"uid": "u", "epoch": 2, "bound": 3, "succeeded": 1}]
    report = a_report(
        bound=bound, kinds=["a/B"], queue_managers=["ns/lq"], api_server={"reason": "timeout"}
    )
    cluster = with_report(BARE, report)
    assert cluster.bound == {("u", 2): BoundPods(3, 1)}
    assert cluster.kinds == frozenset({"a/B"})
    assert cluster.queue_managers == frozenset({"ns/lq"})
    assert cluster.down == "timeout"
    silent = with_report(BARE, a_report())
    assert (silent.kinds, silent.queue_managers, silent.down) == (None, frozenset(), "")


def test_a_pool_adds_a_thousand_nodes_at_most() -> None:
    """However many it may have; one that has them all adds none, nor does one without a shape."""
    pools = [
        {"name": "many", "maxNodes": 5000, "allocatable": {"cpu": "4"}},
        {"name": "full", "maxNodes": 2, "allocatable": {"cpu": "4"}},
        {"name": "bare", "maxNodes": 9},
    ]
    (only,) = with_report(BARE, a_report(), pools).growing
    assert (only.name, only.nodes) == ("many", MOST_NEW_NODES)

"""Properties: what nodes tell, what an administrator adds, and that both reach the hub."""

import pytest

from agent.member.capacity import node_view
from agent.member.properties import MOST, MOST_FAULTS, Declared, of_nodes, read_declared
from hub.domain.fleet.clusters import Cluster, with_report
from hub.domain.placement.plugins.affinity import AffinityRequired
from hub.domain.workloads.demand import Constraints
from hub.domain.workloads.placement_policy import read_policy
from shared.kube.client import KubeClient
from shared.kubesim.cluster import SimCluster
from tests.agent.conftest import Member
from tests.domain.build import NOW

SHAPE = "kubernetes.azure.com/vm-sizes/{}/count"


def a_node(name, **labels):
    marks = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    capacity = {"cpu": "4", "memory": "8Gi", "example.com/fpga": "1"}
    return node_view(
        {"metadata": {"name": name, "labels": marks}, "status": {"capacity": capacity}}, None
    )


def at(name, shape="", region="", zone=""):
    told = {
        "node.kubernetes.io/instance-type": shape,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    node = a_node(name)
    node.labels.update({key: value for key, value in told.items() if value})
    return node


def test_nodes_are_counted_by_shape_and_summed():
    """Every node counts, whether it takes pods now or not; one without a shape is of none."""
    told = of_nodes([at("a", "big"), at("b", "big"), at("c", "small"), at("d")])
    assert told[SHAPE.format("big")] == "2"
    assert told[SHAPE.format("small")] == "1"
    assert told["kubernetes-fleet.io/node-count"] == "4"
    assert told["resources.kubernetes-fleet.io/total-cpu"] == "16"
    assert told["resources.kubernetes-fleet.io/total-example.com/fpga"] == "4"
    assert len(told) == 6


def test_shapes_are_bounded_and_the_most_frequent_count():
    """A cluster of very many shapes tells of a hundred."""
    nodes = [at(str(i), f"shape-{i:03}") for i in range(MOST + 5)] + [at("x", "shape-104")]
    told = [name for name in of_nodes(nodes) if name.endswith("/count")]
    assert len(told) == MOST
    assert SHAPE.format("shape-104") in told


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([at("a", region="eu", zone="1"), at("b", region="eu", zone="2")], {"region": "eu"}),
        ([at("a", region="eu", zone="1"), at("b")], {}),
        ([at("a", region="eu", zone="1")], {"region": "eu", "zone": "1"}),
        ([], {}),
    ],
)
def test_a_cluster_is_where_all_its_nodes_are(nodes, told):
    """Where they do not agree, or one does not say, nothing is told."""
    found = {
        name.rpartition("/")[2]: value
        for name, value in of_nodes(nodes).items()
        if name.startswith("topology")
    }
    assert found == told


def declared(*lines):
    return read_declared({"data": {"properties": "\n".join(lines)}})


def test_one_property_stands_in_a_line():
    """Blank lines and comments are left out; space around names and values too."""
    said = declared(
        "# power", "", " example.com/power = 0.25 ", "kubernetes.azure.com/per-cpu-core-cost=40m"
    )
    assert said == Declared(
        {"example.com/power": "0.25", "kubernetes.azure.com/per-cpu-core-cost": "40m"}
    )
    assert read_declared(None) == read_declared({}) == read_declared({"data": None}) == Declared()


@pytest.mark.parametrize(
    ("line", "why", "kept"),
    [
        ("example.com/power", "expected NAME=VALUE", False),
        ("example.com/power=", "expected NAME=VALUE", False),
        ("what is this=1", "no name of a property", False),
        ("kubernetes-fleet.io/node-count=9", "the agent measures it itself", False),
        ("k8s.io/k8s-version=1.30", "the agent measures it itself", False),
        ("resources.kubernetes-fleet.io/available-cpu=9", "the agent measures it itself", False),
        (f"example.com/long={'9' * 300}", "longer than 256", False),
        ("example.com/power=dear", "no quantity", True),
        ("topology.kubernetes.io/region=eu", "", True),
    ],
)  # fmt: skip
def test_a_line_that_can_not_be_taken_is_told_and_the_others_count(line, why, kept):
    """Its number is told, and why; a value that is no quantity is shown and compares with nothing."""
    said = declared("example.com/good=1", line)
    assert len(said.values) == 1 + kept
    if not why:
        assert said.faults == ()
        return
    (fault,) = said.faults
    assert fault.startswith("roadstead-properties, properties, line 2: ")
    assert why in fault


def test_of_a_name_that_stands_twice_the_first_counts():
    """Keys are read in their order."""
    said = read_declared({"data": {"b": "example.com/a=2", "a": "example.com/a=1"}})
    assert said.values == {"example.com/a": "1"}
    assert "roadstead-properties, b, line 1" in said.faults[0]


def test_properties_and_faults_are_bounded():
    """A hundred are taken; of very many faults twenty are told, the last of which counts the rest."""
    said = declared(*(f"example.com/p{i}={i}" for i in range(MOST + 30)))
    assert len(said.values) == MOST
    assert len(said.faults) == MOST_FAULTS
    assert said.faults[-1] == f"and {30 - MOST_FAULTS + 1} more"


POOLS = [
    {
        "name": "big",
        "count": 2,
        "labels": {
            "node.kubernetes.io/instance-type": "Standard_D4s_v3",
            "topology.kubernetes.io/region": "north",
        },
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", "example.com/fpga": "3"},
    }
]
TEXT = """
kubernetes.azure.com/per-cpu-core-cost=0.04
kubernetes.azure.com/per-gb-memory-cost=5m
example.com/power=dear
"""
_OPERATORS = ("Gt", "Ge", "Eq", "Ne", "Lt", "Le")
_HOLD = {  # of a value: below, equal, above
    "Gt": (True, False, False),
    "Ge": (True, True, False),
    "Eq": (False, True, False),
    "Ne": (True, False, True),
    "Lt": (False, False, True),
    "Le": (False, True, True),
}
_VALUES = {
    "kubernetes-fleet.io/node-count": ("1", "2", "3"),
    "k8s.io/k8s-version": ("1.9", "", "1.1000"),
    "resources.kubernetes-fleet.io/total-cpu": ("15", "16", "17"),
    "resources.kubernetes-fleet.io/allocatable-memory": ("63Gi", "64Gi", "65Gi"),
    "resources.kubernetes-fleet.io/available-cpu": ("15999m", "16000m", "16001m"),
    "resources.kubernetes-fleet.io/available-example.com/fpga": ("5", "6", "7"),
    "kubernetes.azure.com/per-cpu-core-cost": ("0.03", "40m", "0.05"),
    "kubernetes.azure.com/per-gb-memory-cost": ("4m", "0.005", "6m"),
    "kubernetes.azure.com/vm-sizes/Standard_D4s_v3/count": ("1", "2", "3"),
}


def holds(cluster: Cluster, name: str, operator: str, value: str) -> bool:
    """May a placement with this one requirement go to the cluster?"""
    wanted = {"name": name, "operator": operator, "values": [value]}
    terms = {"clusterSelectorTerms": [{"propertySelector": {"matchExpressions": [wanted]}}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    policy = read_policy({"affinity": {"clusterAffinity": affinity}})
    return AffinityRequired().reject(Constraints(policy=policy), cluster, NOW) is None


async def config_map(member: Member, text: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "roadstead-properties", "namespace": "roadstead"},
        "data": {"properties": text},
    }
    await member.kube.create(body, field_manager="test")


@pytest.fixture
async def reporting(tmp_path):
    """A simulated member with nodes of one shape in one region, and an agent."""
    cluster = SimCluster("member", pools=POOLS)
    await cluster.start()
    (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text())
    async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
        one = Member(tmp_path, cluster, kube)
        await one.namespace("roadstead")
        await config_map(one, TEXT)
        one.start()
        try:
            yield one
        finally:
            await one.stop()
    await cluster.stop()


@pytest.mark.anyio
async def test_every_property_of_a_member_can_be_required(reporting):
    """All six operators, for what nodes tell, what is measured and what its administrator adds."""
    told = await reporting.hub.until(
        lambda hub: hub.capacity and hub.capacity.property_faults and hub.capacity
    )
    cluster = with_report(Cluster("member"), told.model_dump())
    version = told.kubernetes_version
    for name, texts in _VALUES.items():
        values = tuple(text or version for text in texts)
        for operator in _OPERATORS:
            found = tuple(holds(cluster, name, operator, value) for value in values)
            assert found == _HOLD[operator], (name, operator, cluster.shown(name))
    region = "topology.kubernetes.io/region"
    assert holds(cluster, region, "Eq", "north")
    assert holds(cluster, region, "Ne", "south")
    assert not holds(cluster, region, "Ne", "north")
    for name in ("topology.kubernetes.io/zone", "example.com/power", "example.com/absent"):
        assert not any(holds(cluster, name, operator, "1") for operator in _OPERATORS)
    (fault,) = told.property_faults
    assert "line 4: 'example.com/power': no quantity" in fault


@pytest.mark.anyio
async def test_a_change_of_the_config_map_is_reported(reporting):
    """Watched, not polled: an edit is told, and once it is deleted nothing of it is."""
    cost = "kubernetes.azure.com/per-cpu-core-cost"
    await reporting.hub.until(lambda hub: hub.capacity and cost in hub.capacity.properties)
    patch = {"data": {"properties": f"{cost}=1"}}
    await reporting.kube.merge_patch(
        "v1", "ConfigMap", "roadstead", "roadstead-properties", patch, field_manager="test"
    )
    await reporting.hub.until(lambda hub: hub.capacity.properties.get(cost) == "1")
    await reporting.kube.delete("v1", "ConfigMap", "roadstead", "roadstead-properties")
    told = await reporting.hub.until(
        lambda hub: cost not in hub.capacity.properties and hub.capacity
    )
    assert told.property_faults == []

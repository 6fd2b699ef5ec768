"""Placements and member clusters: KubeFleet's rules, with what Roadstead adds."""

import pytest

from shared import kinds
from tests.kinds.build import a_placement, an_object, refused, spec_of

CPU = "resources.kubernetes-fleet.io/available-cpu"
TERMS = "spec.policy.affinity.clusterAffinity"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ENDURING = "requiredDuringSchedulingRequiredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(required=None, preferred=None, enduring=None):
    inner = {}
    if required is not None:
        inner[REQUIRED] = {"clusterSelectorTerms": required}
    if enduring is not None:
        inner[ENDURING] = {"clusterSelectorTerms": enduring}
    if preferred is not None:
        inner[PREFERRED] = preferred
    return {"clusterAffinity": inner}


def where(*expressions):
    listed = [{"name": n, "operator": op, "values": [v]} for n, op, v in expressions]
    return {"propertySelector": {"matchExpressions": listed}}


def sorted_by(name, weight=10):
    sorter = {"name": name, "sortOrder": "Descending"}
    return {"weight": weight, "preference": {"propertySorter": sorter}}


def pick_n(**more):
    return {"policy": {"placementType": "PickN", "numberOfClusters": 1, **more}}


def test_defaults_are_filled_in():
    """A placement that says nothing picks all clusters and rolls out by a quarter."""
    spec = spec_of(a_placement())
    assert spec["policy"] == {"placementType": "PickAll"}
    assert spec["revisionHistoryLimit"] == 10
    assert spec["strategy"]["type"] == "RollingUpdate"
    assert spec["strategy"]["applyStrategy"]["whenToApply"] == "Always"
    assert "whenToTakeOver" not in spec["strategy"]["applyStrategy"]


@pytest.mark.parametrize("kind", ["ClusterResourcePlacement", "ResourcePlacement"])
def test_both_versions_have_one_shape(kind):
    """v1beta1 and v1 of a placement read alike."""
    assert spec_of(a_placement(kind)) == spec_of(a_placement(kind, "v1"))


@pytest.mark.parametrize(
    "name", [CPU, "resources.kubernetes-fleet.io/available-nvidia.com/gpu",
             "resources.kubernetes-fleet.io/total-ephemeral-storage",
             "kubernetes-fleet.io/node-count", "price", "k8s.io/k8s-version",
             "kubernetes.azure.com/vm-sizes/Standard_D4s_v3/count"],
)  # fmt: skip
def test_clusters_are_sorted_by_any_property_and_any_resource(name):
    """A sorter names a property of a cluster, or a resource: extended ones too."""
    policy = pick_n(affinity=affinity(preferred=[sorted_by(name, -100)]))
    assert spec_of(a_placement(**policy))


FAULTS = [
    (pick_n(affinity=affinity(preferred=[sorted_by("a//c")])),
     f"{TERMS}.{PREFERRED}[0].preference.propertySorter.name", "InvalidProperty"),
    (pick_n(affinity=affinity(preferred=[sorted_by(CPU, 101)])),
     f"{TERMS}.{PREFERRED}[0].weight", "OutOfRange"),
    ({"policy": {"affinity": affinity(preferred=[sorted_by(CPU)])}},
     f"{TERMS}.{PREFERRED}", "InvalidCombination"),
    (pick_n(affinity=affinity(preferred=[{"weight": 1, "preference": where((CPU, "Gt", "1"))}])),
     f"{TERMS}.{PREFERRED}[0].preference.propertySelector", "InvalidSelector"),
    (pick_n(affinity=affinity(required=[sorted_by(CPU)["preference"]])),
     f"{TERMS}.{REQUIRED}.clusterSelectorTerms[0].propertySorter", "InvalidSelector"),
    (pick_n(affinity=affinity(required=[where((CPU, "Gt", "4"), (CPU, "Lt", "4000m"))])),
     f"{TERMS}.{REQUIRED}.clusterSelectorTerms[0].propertySelector.matchExpressions",
     "InvalidCombination"),
    (pick_n(affinity=affinity(required=[where((CPU, "Gt", "many"))])),
     f"{TERMS}.{REQUIRED}.clusterSelectorTerms[0].propertySelector.matchExpressions[0].values[0]",
     "InvalidQuantity"),
    (pick_n(affinity=affinity(required=[where(("topology.kubernetes.io/region", "Gt", "a"))])),
     f"{TERMS}.{REQUIRED}.clusterSelectorTerms[0].propertySelector.matchExpressions[0].operator",
     "InvalidProperty"),
    (pick_n(affinity=affinity(required=[where(("k8s.io/k8s-version", "Gt", "new"))])),
     f"{TERMS}.{REQUIRED}.clusterSelectorTerms[0].propertySelector.matchExpressions[0].values[0]",
     "InvalidQuantity"),
    (pick_n(affinity=affinity(preferred=[sorted_by("topology.kubernetes.io/zone")])),
     f"{TERMS}.{PREFERRED}[0].preference.propertySorter.name", "InvalidProperty"),
    (pick_n(affinity=affinity(enduring=[where((CPU, "Gt", "1"))])),
     f"{TERMS}.{ENDURING}.clusterSelectorTerms[0].propertySelector.matchExpressions[0].name",
     "InvalidProperty"),
    (pick_n(affinity=affinity(required=[{}] * 10_000)),
     f"{TERMS}.{REQUIRED}.clusterSelectorTerms", "TooManyTerms"),
    ({"policy": {"placementType": "PickN"}}, "spec.policy.numberOfClusters", "Required"),
    (pick_n(numberOfClusters=-1), "spec.policy.numberOfClusters", "OutOfRange"),
    (pick_n(numberOfClusters=10**9), "spec.policy.numberOfClusters", "OutOfRange"),
    (pick_n(clusterNames=["a"]), "spec.policy.clusterNames", "InvalidCombination"),
    (pick_n(topologySpreadConstraints=[{"topologyKey": "region", "maxSkew": 0}]),
     "spec.policy.topologySpreadConstraints[0].maxSkew", "OutOfRange"),
    (pick_n(tolerations=[{"key": "k", "operator": "Exists", "effect": "Sometimes"}]),
     "spec.policy.tolerations[0].effect", "UnsupportedValue"),
    ({"policy": {"numberOfClusters": 1}}, "spec.policy.numberOfClusters", "InvalidCombination"),
    ({"policy": {"placementType": "PickFixed"}}, "spec.policy.clusterNames", "Required"),
    ({"policy": {"placementType": "PickFixed", "clusterNames": ["a", "a"]}},
     "spec.policy.clusterNames[1]", "Duplicate"),
    ({"resourceSelectors": []}, "spec.resourceSelectors", "Required"),
    ({"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace",
                             "name": "kube-system"}]},
     "spec.resourceSelectors[0].name", "ReservedNamespace"),
    ({"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "a",
                             "labelSelector": {}}]},
     "spec.resourceSelectors[0].labelSelector", "MutuallyExclusive"),
    ({"resourceSelectors": [{"group": "batch", "version": "v1", "kind": "Job", "name": "a"}]},
     "spec.resourceSelectors[0].kind", "WrongScope"),
    ({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
     "spec.strategy.rollingUpdate.maxSurge", "InvalidCombination"),
    ({"strategy": {"rollingUpdate": {"maxSurge": "101%"}}},
     "spec.strategy.rollingUpdate.maxSurge", "OutOfRange"),
    ({"strategy": {"type": "External", "rollingUpdate": {}}},
     "spec.strategy.rollingUpdate", "InvalidCombination"),
    ({"strategy": {"applyStrategy": {"serverSideApplyConfig": {"force": True}}}},
     "spec.strategy.applyStrategy.serverSideApplyConfig", "InvalidCombination"),
    ({"strategy": {"applyStrategy": {"whenToAply": "Always"}}},
     "spec.strategy.applyStrategy.whenToAply", "UnknownField"),
    ({"strategy": {"reportBackStrategy": {"type": "Mirror"}}},
     "spec.strategy.reportBackStrategy.destination", "InvalidCombination"),
    ({"revisionHistoryLimit": 0}, "spec.revisionHistoryLimit", "OutOfRange"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "field", "code"), FAULTS)
def test_faults_of_a_placement_are_found(spec, field, code):
    """A placement that could not work is refused with the path of the fault."""
    assert refused(a_placement(**spec))[field] == code


def test_picking_no_cluster_is_valid():
    """A count of 0, and an empty list of names, mean: scale to zero."""
    assert spec_of(a_placement(**pick_n(numberOfClusters=0)))
    fixed = {"placementType": "PickFixed", "clusterNames": []}
    assert spec_of(a_placement(policy=fixed))


def test_a_namespaced_placement_selects_namespaced_objects():
    """A ResourcePlacement does not reach beyond its namespace."""
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "team-a"}
    placement = a_placement("ResourcePlacement", resourceSelectors=[selector])
    assert refused(placement) == {"spec.resourceSelectors[0].kind": "WrongScope"}


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_a_member_cluster_is_read_in_both_versions(version):
    """A MemberCluster needs nothing but a name; its heartbeat defaults to a minute."""
    cluster = an_object(f"cluster.kubernetes-fleet.io/{version}", "MemberCluster", "east")
    assert spec_of(cluster) == {"heartbeatPeriodSeconds": 60}
    assert kinds.parse(cluster).namespace == ""


def test_faults_of_a_member_cluster_are_found():
    """Names of clusters are DNS names below 64 characters; taints know NoSchedule only."""
    cluster = an_object(
        "cluster.kubernetes-fleet.io/v1", "MemberCluster", "Prod",
        taints=[{"key": "k", "effect": "NoExecute"}], heartbeatPeriodSeconds=601,
    )  # fmt: skip
    assert refused(cluster) == {
        "metadata.name": "InvalidName",
        "spec.heartbeatPeriodSeconds": "OutOfRange",
        "spec.taints[0].effect": "UnsupportedValue",
    }


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_pools_that_may_grow_are_declared_on_a_member(version):
    """Roadstead's own field: how many nodes there may be, by which labels they are known, what one holds."""
    pool = {
        "name": "burst", "maxNodes": 10, "labels": {"pool": "burst"},
        "taints": [{"key": "gpu", "effect": "NoExecute"}], "allocatable": {"cpu": 24},
    }  # fmt: skip
    cluster = an_object(
        f"cluster.kubernetes-fleet.io/{version}", "MemberCluster", "east", pools=[pool]
    )
    assert spec_of(cluster)["pools"] == [{**pool, "allocatable": {"cpu": "24"}}]


def test_faults_of_a_declared_pool_are_found():
    """Amounts are quantities of resources, labels labels, and nodes are not fewer than none."""
    pool = {
        "name": "", "maxNodes": -1, "labels": {"a b": "c"},
        "taints": [{"key": "k", "effect": "Never"}], "allocatable": {"cpu": "-1", "a b": "1"},
    }  # fmt: skip
    cluster = an_object("cluster.kubernetes-fleet.io/v1", "MemberCluster", "east", pools=[pool])
    assert set(refused(cluster)) == {
        "spec.pools[0].name",
        "spec.pools[0].maxNodes",
        "spec.pools[0].taints[0].effect",
        "spec.pools[0].allocatable.cpu",
    }
    other = {**pool, "name": "x", "maxNodes": 1, "taints": [], "allocatable": {"a b": "1"}}
    again = an_object("cluster.kubernetes-fleet.io/v1", "MemberCluster", "east", pools=[other])
    assert set(refused(again)) == {"spec.pools[0].labels", "spec.pools[0].allocatable"}

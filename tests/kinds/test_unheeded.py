"""What is accepted and changes nothing says so; what would wait for ever is refused."""

import pytest

from shared.errors import Rejected
from shared.kinds import parse
from shared.kinds.unheeded import notices, reports_to_original, says_more

PODS = {"containers": [{"name": "main", "image": "busybox"}]}
SELECTORS = [{"group": "", "version": "v1", "kind": "Namespace", "name": "a"}]


def a_job(annotations=None, template=None, **pods):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "annotations": annotations or {}},
        "spec": {
            "template": {
                "metadata": {"annotations": template or {}},
                "spec": {"restartPolicy": "Never", **PODS, **pods},
            }
        },
    }


TO_ORIGINAL = {"type": "Mirror", "destination": "OriginalResource"}


def a_placement(**strategy):
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p"},
        "spec": {"resourceSelectors": SELECTORS, "strategy": strategy},
    }


def a_placement_of(group, kind):
    placement = a_placement()
    selector = {"group": group, "version": "v1", "kind": kind, "name": "a"}
    placement["spec"]["resourceSelectors"] = [*SELECTORS, selector]
    return placement


def of_kind(api_version, kind, **spec):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


KUEUE = "kueue.x-k8s.io/v1beta1"
PARTS = [
    (a_job(template={"kueue.x-k8s.io/podset-required-topology": "rack"}), "podset-required"),
    (a_job(template={"kueue.x-k8s.io/podset-slice-size": "2"}), "podset-slice-size"),
    (a_job(template={"kueue.x-k8s.io/podset-topology-spreading": "{}"}), "podset-topology-spr"),
    (a_job(resourceClaims=[{"name": "gpu", "resourceClaimName": "g"}]), "resourceClaims"),
    (
        of_kind(KUEUE, "ResourceFlavor", nodeLabels={"a": "b"}, topologyName="racks"),
        "topologyName",
    ),
    (of_kind(KUEUE, "Topology", levels=[{"nodeLabel": "rack"}]), "Topology"),
    (
        a_placement_of("placement.kubernetes-fleet.io", "ClusterResourceOverride"),
        "resourceSelectors[1]: no placement carries a ClusterResourceOverride",
    ),
    (a_placement_of("", "Node"), "no placement carries a Node"),
    (a_placement(reportBackStrategy=TO_ORIGINAL), "more than one cluster can hold the objects"),
]


@pytest.mark.parametrize(("manifest", "word"), PARTS, ids=[word for _, word in PARTS])
def test_what_changes_nothing_is_named(manifest, word):
    """One sentence with the field, for people to read before they wait for an effect."""
    (said,) = notices(parse(manifest))
    assert word in said


@pytest.mark.parametrize(
    "manifest",
    [
        a_job({"roadstead.dev/on-cluster-loss": "RescheduleAfter(5m)"}),
        a_placement(reportBackStrategy={"type": "Mirror", "destination": "WorkAPI"}),
        a_placement(applyStrategy={"comparisonOption": "FullComparison"}),
        a_placement(applyStrategy={"allowCoOwnership": True}),
        a_placement(applyStrategy={"type": "ReportDiff"}),
        a_placement(deleteStrategy={"propagationPolicy": "Abandon"}),
        of_kind(KUEUE, "Cohort"),
        of_kind("example.com/v1", "Widget", size=1),
    ],
)
def test_what_is_acted_on_is_not_warned_of(manifest):
    """Nor are kinds that are not the hub's: they are propagated as they are."""
    assert notices(parse(manifest)) == ()


TEMPLATE = {"spec": PODS}
GROUPS = [
    of_kind("sparkoperator.k8s.io/v1beta2", "SparkApplication", driver={"memory": "1g"}),
    of_kind(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        replicatedJobs=[{"name": "w", "template": {"spec": {"template": TEMPLATE}}}],
    ),
    of_kind("ray.io/v1", "RayJob", rayClusterSpec={"workerGroupSpecs": [{"template": TEMPLATE}]}),
    of_kind(
        "kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs={"Worker": {"template": TEMPLATE}}
    ),
]


@pytest.mark.parametrize("manifest", GROUPS, ids=lambda each: each["kind"])
def test_a_kind_with_pods_and_queue_is_refused_without_adapter(manifest):
    """It would be stored, shown as created, and never start."""
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    with pytest.raises(Rejected) as refused:
        parse(manifest)
    assert refused.value.code == "NoAdapter"
    del manifest["metadata"]["labels"]
    assert parse(manifest).kind == manifest["kind"]


@pytest.mark.parametrize(
    ("api_version", "kind", "advice"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", "or submit its Jobs"),
        ("apps/v1", "Deployment", "or ask for its quota with a bare Workload"),
        ("v1", "Pod", "or ask for its quota with a bare Workload"),
    ],
)
def test_the_advice_suits_the_kind(api_version, kind, advice):
    """A Deployment has no Jobs that could be submitted in its place."""
    manifest = of_kind(api_version, kind, template=TEMPLATE, containers=[])
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    with pytest.raises(Rejected) as refused:
        parse(manifest)
    assert refused.value.detail.endswith(advice)


def test_a_queue_that_is_named_in_vain_is_told_of():
    """What carries no pods is no workload: it is kept, with a word that the label changes nothing."""
    manifest = of_kind("example.com/v1", "Widget", size=1)
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    (said,) = notices(parse(manifest))
    assert said.endswith("a Widget waits in no queue")


@pytest.mark.parametrize(
    ("policy", "to_original"),
    [
        ({"placementType": "PickFixed", "clusterNames": ["a"]}, True),
        ({"placementType": "PickFixed", "clusterNames": ["a", "b"]}, False),
        ({"placementType": "PickFixed", "clusterNames": []}, False),
        ({"placementType": "PickN", "numberOfClusters": 1}, True),
        ({"placementType": "PickN", "numberOfClusters": 2}, False),
        ({"placementType": "PickAll"}, False),
        ({}, False),
    ],
)
def test_a_status_goes_to_the_object_where_one_cluster_alone_can_hold_it(policy, to_original):
    """By the policy, whatever clusters there are now."""
    spec = {"policy": policy, "strategy": {"reportBackStrategy": TO_ORIGINAL}}
    assert reports_to_original(spec) is to_original
    assert not reports_to_original({"policy": policy})


@pytest.mark.parametrize(
    ("status", "more"),
    [
        (None, False),
        ({}, False),
        ({"conditions": [{"type": "NotActedOn"}]}, False),
        ({"conditions": [{"type": "NotActedOn"}, {"type": "Ready"}]}, True),
        ({"conditions": ["x"]}, True),
        ({"phase": "Ready"}, True),
    ],
)
def test_the_hubs_own_condition_is_told_from_what_a_member_reports(status, more):
    """Anything besides it is the member's."""
    assert says_more(status) is more

"""What is accepted and changes nothing says so; what would wait for ever is refused."""

import pytest

from shared.errors import Rejected
from shared.kinds import parse
from shared.kinds.unheeded import notices, reports_to_original, says_more
from tests.bad_inputs import objects

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
    (a_job(template={"kueue.x-k8s.io/podset-preferred-topology": "rack"}), "podset-preferred"),
    (a_job({"kueue.x-k8s.io/priority-boost": "5"}), "priority-boost"),
    (objects.a_queue("warp-cores"), "no container can ask for warp-cores"),
    (a_job({"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "60"}), "provreq"),
    (a_job({"kueue.x-k8s.io/pod-group-total-count": "2"}), "pod-group-total-count"),
    (
        of_kind(
            "kueue.x-k8s.io/v1beta2",
            "MultiKueueConfig",
            clusters=["m1"],
            quotaManagement="Automated",
        ),
        "quotaManagement",
    ),
    (of_kind("resource.k8s.io/v1", "ResourceClaimTemplate"), "claims count for no quota"),
    (of_kind("scheduling.k8s.io/v1alpha1", "Workload"), "Kueue's Workloads alone"),
    (of_kind("multicluster.x-k8s.io/v1alpha1", "ClusterProfile"), "members are MemberClusters"),
    (
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "q", "labels": {"team": "a", "app.kubernetes.io/name": "q"}},
            "spec": {"clusterQueue": "all"},
        },
        "metadata.labels (team): reach neither",
    ),
    (a_job(template={"kueue.x-k8s.io/podset-slice-size": "2"}), "podset-slice-size"),
    (a_job(template={"kueue.x-k8s.io/podset-topology-spreading": "{}"}), "podset-topology-spr"),
    (a_job(resourceClaims=[{"name": "gpu", "resourceClaimName": "g"}]), "resourceClaims"),
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


@pytest.mark.parametrize("name", ["job-min-parallelism", "job-completions-equal-parallelism"])
def test_fewer_pods_are_told_of_where_partial_admission_is_off(name):
    """All pods start, or none."""
    job = a_job({f"kueue.x-k8s.io/{name}": "1"})
    job["spec"]["parallelism"] = 3
    assert notices(parse(job), partial=True) == ()
    (said,) = notices(parse(job), partial=False)
    assert name in said


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        (a_job(template={f"kueue.x-k8s.io/podset-{name}": "rack"}),
         f"spec.template.metadata.annotations[kueue.x-k8s.io/podset-{name}]")
        for name in (
            "required-topology",
            "slice-required-topology",
            "slice-required-topology-constraints",
        )
    ]
    + [(of_kind(KUEUE, "ResourceFlavor", nodeLabels={"a": "b"}, topologyName="racks"),
        "spec.topologyName")],
)  # fmt: skip
def test_a_topology_that_is_required_is_refused(manifest, field):
    """The pods would run without it."""
    with pytest.raises(Rejected) as refused:
        parse(manifest)
    assert [(e.field, e.code) for e in refused.value.errors] == [(field, "UnsupportedValue")]


def test_a_workload_that_requires_a_topology_is_never_admitted():
    """It is kept, with the reason."""
    pod_set = {"name": "main", "count": 1, "template": {"spec": PODS}}
    pod_set["topologyRequest"] = {"required": "rack"}
    parsed = parse(of_kind("kueue.x-k8s.io/v1beta2", "Workload", queueName="q", podSets=[pod_set]))
    assert parsed.hindrance is not None
    assert parsed.hindrance.field == "spec.podSets[0].topologyRequest.required"
    assert parsed.pod_sets == ()


def test_a_job_of_a_workload_that_is_there_is_refused():
    """Kueue would admit it by that Workload's quota."""
    job = a_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/prebuilt-workload-name": "w"}
    with pytest.raises(Rejected) as refused:
        parse(job)
    assert refused.value.code == "UnsupportedValue"


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("kubeflow.org/v1", "Notebook"),
        ("serving.kserve.io/v1beta1", "InferenceService"),
        ("tekton.dev/v1", "PipelineRun"),
        ("argoproj.io/v1alpha1", "Workflow"),
        ("inference.networking.k8s.io/v1", "InferencePool"),
    ],
)
def test_a_kind_that_runs_pods_is_refused_with_a_queue_also_without_a_template(api_version, kind):
    """It would be shown as created and never wait in a queue."""
    manifest = of_kind(api_version, kind)
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    with pytest.raises(Rejected) as refused:
        parse(manifest)
    assert refused.value.code == "NoAdapter"


def test_a_kind_of_a_known_name_is_refused_with_its_group():
    """Volcano's Job is not the Job that is admitted."""
    manifest = of_kind("batch.volcano.sh/v1alpha1", "Job", tasks=[{"template": {"spec": PODS}}])
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    with pytest.raises(Rejected) as refused:
        parse(manifest)
    assert refused.value.detail.startswith("Job.batch.volcano.sh names queue q")


TEMPLATE = {"spec": PODS}
GROUPS = [
    of_kind("sparkoperator.k8s.io/v1beta9", "SparkApplication", driver={"memory": "1g"}),
    of_kind("apps/v1", "Deployment", template=TEMPLATE),
    of_kind("ray.io/v1beta9", "RayCluster", workerGroupSpecs=[{"template": TEMPLATE}]),
    of_kind(
        "kubeflow.org/v1beta9",
        "PyTorchJob",
        pytorchReplicaSpecs={"Worker": {"template": TEMPLATE}},
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
        ("batch/v1beta1", "CronJob", "the controller of CronJobs there would run it too"),
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
    assert said.endswith("a Widget of example.com waits in no queue")


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

"""Kinds that never finish, and those whose pods are counted one by one."""

import pytest

from tests.workkinds.build import QUEUE, a_pod, an_object, counts, pods, read


def _inference(annotations=None, **spec):
    return an_object(
        "serving.kserve.io/v1beta1", "InferenceService", spec, annotations=annotations or {}
    )


MODEL = {"modelFormat": {"name": "onnx"}, "resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}


def test_each_part_of_an_inference_service_is_a_pod_set():
    """A model is a container; a part that is not there has none; the least replicas count."""
    service = _inference(
        predictor={"minReplicas": 2, "model": MODEL},
        transformer={"containers": [{"name": "t", "resources": {"requests": {"cpu": "1"}}}]},
    )
    assert pods(read(service)) == {
        "predictor": (2, {"cpu": "2", "memory": "4Gi"}),
        "transformer": (1, {"cpu": "1"}),
    }


def test_containers_beside_a_model_count():
    """Of a framework's own field too."""
    side = {"name": "s", "resources": {"requests": {"cpu": "500m"}}}
    service = _inference(predictor={"containers": [side], "sklearn": MODEL})
    assert pods(read(service)) == {"predictor": (1, {"cpu": "2500m", "memory": "4Gi"})}


@pytest.mark.parametrize(
    ("service", "said"),
    [
        (
            _inference(
                {"serving.kserve.io/deploymentMode": "Serverless"}, predictor={"model": MODEL}
            ),
            "Knative",
        ),
        (
            _inference(
                {"serving.kserve.io/deploymentMode": "Knative"}, predictor={"model": MODEL}
            ),
            "Knative",
        ),
        (_inference(predictor={"model": MODEL, "workerSpec": {}}), "workerSpec"),
        (_inference(predictor={"minReplicas": 1}), "predictor has instances or a count"),
        (_inference(), "no pods are found"),
    ],
)
def test_an_inference_service_that_is_refused(service, said):
    """Pods that others make, several nodes, and no container at all."""
    found = read(service)
    assert found.outcome == "refused"
    assert said in found.reason


@pytest.mark.parametrize("mode", ["Standard", "RawDeployment"])
def test_deployments_by_either_name(mode):
    """The mode's new name and its old one."""
    service = _inference({"serving.kserve.io/deploymentMode": mode}, predictor={"model": MODEL})
    assert read(service).outcome == "managed"


@pytest.mark.parametrize(
    ("annotations", "count"), [({}, 1), ({"kubeflow-resource-stopped": "2026-01-01"}, 0)]
)
def test_a_stopped_notebook_has_no_pod(annotations, count):
    """The user's own annotation."""
    notebook = an_object(
        "kubeflow.org/v1", "Notebook", {"template": a_pod()}, annotations=annotations
    )
    assert counts(read(notebook)) == {"main": count}


@pytest.mark.parametrize(("spec", "count"), [({}, 1), ({"replicas": 1}, 1), ({"replicas": 0}, 0)])
def test_a_sandbox_is_one_pod(spec, count):
    """None while it sleeps."""
    sandbox = an_object("agents.x-k8s.io/v1alpha1", "Sandbox", {"podTemplate": a_pod(), **spec})
    found = read(sandbox)
    assert counts(found) == {"main": count}
    assert found.suspend_path == "pods:spec.schedulingGates"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_no_replicas_are_no_workload(kind):
    """Its quota is free."""
    found = read(an_object("apps/v1", kind, {"replicas": 0, "template": a_pod()}))
    assert (found.outcome, found.workloads, found.pod_sets) == ("managed", 0, ())


def _groups(**template):
    said = {"workerTemplate": a_pod(), **template}
    return an_object(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": said}
    )


@pytest.mark.parametrize(
    ("template", "sets"),
    [
        ({}, {"main": 1}),
        ({"size": 4}, {"main": 4}),
        ({"size": 4, "leaderTemplate": a_pod()}, {"leader": 1, "worker": 3}),
        ({"leaderTemplate": a_pod()}, {"leader": 1, "worker": 0}),
    ],
)
def test_a_group_of_a_leader_and_workers(template, sets):
    """Without a template the leader is one of the workers."""
    found = read(_groups(**template))
    assert (found.workloads, counts(found)) == (1, sets)


def test_a_group_without_workers_template_is_refused():
    """What its workers ask for is not known."""
    assert read(_groups(size=2, leaderTemplate=a_pod(), workerTemplate=None)).outcome == "refused"


def test_the_view_of_flux_is_an_init_container():
    """It counts where it asks for more than all containers."""
    view = {"container": {"resources": {"requests": {"cpu": "4"}}}}
    containers = [
        {"resources": {"requests": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "2"}}},
    ]
    spec = {"size": 2, "containers": containers, "flux": view}
    assert pods(read(an_object("flux-framework.org/v1alpha2", "MiniCluster", spec))) == {
        "main": (2, {"cpu": "4"})
    }


def test_a_cluster_of_flux_names_its_queue_by_labels_of_its_job():
    """And its priority."""
    labels = {**QUEUE, "kueue.x-k8s.io/priority-class": "high"}
    spec = {"containers": [{}], "jobLabels": labels}
    found = read(an_object("flux-framework.org/v1alpha2", "MiniCluster", spec, labels={}))
    assert (found.outcome, found.priority_class) == ("managed", "high")
    assert found.priority_kind == "WorkloadPriorityClass"


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("argoproj.io/v1alpha1", "Workflow"), ("tekton.dev/v1", "PipelineRun")],
)
def test_each_pod_of_a_step_is_a_workload(api_version, kind):
    """The object itself reserves nothing."""
    found = read(an_object(api_version, kind, {}))
    assert (found.outcome, found.workloads, found.pod_sets) == ("per-pod", 0, ())
    assert found.suspend_path == "pods:spec.schedulingGates"


def test_a_companion_needs_no_queue():
    """It goes where its workload goes."""
    pool = an_object("inference.networking.k8s.io/v1", "InferencePool", {}, labels={})
    assert read(pool).outcome == "companion"


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("PyTorchJob", "pytorchReplicaSpecs"),
        ("XGBoostJob", "xgbReplicaSpecs"),
        ("PaddleJob", "paddleReplicaSpecs"),
    ],
)
def test_a_role_without_pods_is_refused(kind, field):
    """A role that is there runs something that nobody has counted."""
    job = an_object("kubeflow.org/v1", kind, {field: {"Master": {"replicas": 2}}})
    found = read(job)
    assert found.outcome == "refused"
    assert "master" in found.reason


def test_the_priority_of_a_kubeflow_job():
    """Its scheduling policy goes before its templates."""
    spec = {
        "runPolicy": {"schedulingPolicy": {"priorityClass": "policy"}},
        "pytorchReplicaSpecs": {"Worker": {"template": a_pod(priorityClassName="template")}},
    }
    found = read(an_object("kubeflow.org/v1", "PyTorchJob", spec))
    assert (found.priority_class, found.priority_kind) == ("policy", "PriorityClass")

"""Scripted operators: what they make of an object, make again, take away, and write of it."""

import pytest

from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.operators.definitions import KINDS as DEFINED, operator_crds
from shared.labels import JOB_UID
from tests.agent.parents import HELD_AT, KINDS, RESOURCES, a_parent
from tests.kubesim.world import World

POOLS = [{"name": "cpu", "count": 1, "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "50"}}]
PODS = {"AppWrapper": 4, "JobSet": 3, "PyTorchJob": 3, "RayJob": 4, "SparkApplication": 3}
DONE = {
    "AppWrapper": ["Succeeded"],
    "JobSet": "Completed",
    "PyTorchJob": "Succeeded",
    "SparkApplication": [{"state": "COMPLETED"}],
}


TRAINING = {
    "JAXJob": ("jaxReplicaSpecs", "Worker"),
    "MPIJob": ("mpiReplicaSpecs", "Launcher"),
    "PaddleJob": ("paddleReplicaSpecs", "Worker"),
    "TFJob": ("tfReplicaSpecs", "Chief"),
    "XGBoostJob": ("xgbReplicaSpecs", "Master"),
}


def a_world(without=""):
    world = World(POOLS)
    for group, version, kind, plural in DEFINED:
        if kind == without:
            continue
        resource = Resource(
            group, version, plural, kind, kind.lower(), True,
            has_status=True, has_generation=True, custom=True,
        )  # fmt: skip
        world.store.registry.add([resource])
    return world


def made(world, kind, **fields):
    manifest = a_parent(kind, **fields).manifest
    manifest["metadata"]["namespace"] = "default"
    world.store.create(RESOURCES[kind], manifest)
    world.advance(3)


def parent(world, kind):
    return world.store.get(RESOURCES[kind], "default", "parent")


def pods(world):
    return world.store.list("pods", "default")


def hold(world, kind):
    live = parent(world, kind)
    spec = dict(live["spec"])
    if HELD_AT[kind].count("/") == 3:
        spec["runPolicy"] = {"suspend": True}
    else:
        spec["suspend"] = True
    world.store.update(RESOURCES[kind], {**live, "spec": spec}, trusted=True)
    world.advance(3)


@pytest.mark.parametrize("kind", KINDS)
def test_pods_run_unless_it_is_suspended(kind):
    """Suspended, it loses them."""
    world = a_world()
    made(world, kind, run_seconds="600")
    assert len(pods(world)) == PODS[kind]
    hold(world, kind)
    assert pods(world) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_is_written_as_its_operator_writes_it(kind):
    """By a condition, or by a phase."""
    world = a_world()
    made(world, kind, run_seconds="1")
    world.advance(10)
    status = parent(world, kind)["status"]
    if kind == "RayJob":
        assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
        return
    if kind in ("AppWrapper", "SparkApplication"):
        assert status.get("phase", status.get("applicationState")) in DONE[kind]
        return
    held = {c["type"] for c in status["conditions"] if c["status"] == "True"}
    assert DONE[kind] in held


def test_spark_writes_labels_of_a_role_over_those_of_its_template():
    """So a mark there is taken off the pod: the hub and the agent refuse such a label."""
    world = a_world()
    manifest = a_parent("SparkApplication", run_seconds="600").manifest
    manifest["metadata"]["namespace"] = "default"
    manifest["spec"]["driver"]["labels"] = {JOB_UID: "another", "team": "a"}
    world.store.create(RESOURCES["SparkApplication"], manifest)
    world.advance(3)
    told = {each["metadata"]["name"]: each["metadata"]["labels"] for each in pods(world)}
    driver = told.pop("parent-driver")
    assert (driver[JOB_UID], driver["team"]) == ("another", "a")
    assert "another" not in {each[JOB_UID] for each in told.values()}


def test_a_lost_child_is_made_again():
    """Under the same name."""
    world = a_world()
    made(world, "JobSet", run_seconds="600")
    lost = world.store.get("jobs.batch", "default", "parent-lead-0")
    world.store.delete("jobs.batch", "default", "parent-lead-0", propagation="Background")
    world.advance(5)
    again = world.store.get("jobs.batch", "default", "parent-lead-0")
    assert again["metadata"]["uid"] != lost["metadata"]["uid"]


def test_each_kind_has_a_definition():
    """With a subresource for its status, so that only the spec raises the generation."""
    assert len(operator_crds()) == len(DEFINED)
    for crd in operator_crds():
        assert crd["spec"]["versions"][0]["subresources"] == {"status": {}}


def warnings(world):
    return {
        event["involvedObject"]["kind"]: (event["reason"], event["message"])
        for event in world.store.list("events", "default")
        if event["type"] == "Warning"
    }


def submitted(world, manifest):
    """An object as people write it, with the labels of the hub on its pods."""
    manifest["metadata"] = {"name": "parent", "namespace": "default"}
    world.store.create(
        f"{manifest['kind'].lower()}s.{manifest['apiVersion'].split('/')[0]}", manifest
    )
    world.advance(2)


def a_template(**pod):
    container = {"name": "main", "image": "busybox:1.36"}
    return {"metadata": {"labels": {JOB_UID: "u"}}, "spec": {"containers": [container], **pod}}


@pytest.mark.parametrize("kind", sorted(TRAINING))
def test_pods_of_a_hubs_job_end_as_those_of_a_job_do(kind):
    """After three seconds, if they do not say how long they run; the leading role tells the end."""
    world = a_world()
    field, role = TRAINING[kind]
    (version,) = [version for _, version, name, _ in DEFINED if name == kind]
    spec = {field: {role: {"replicas": 1, "template": a_template()}}}
    submitted(world, {"apiVersion": f"kubeflow.org/{version}", "kind": kind, "spec": spec})
    assert [pod["status"]["phase"] for pod in pods(world)] == ["Running"]
    world.advance(5)
    status = world.store.get(f"{kind.lower()}s.kubeflow.org", "default", "parent")["status"]
    assert "Succeeded" in {c["type"] for c in status["conditions"] if c["status"] == "True"}


def test_a_head_runs_until_its_job_has_ended():
    """The submitter ends after three seconds; the cluster serves until then, and leaves with the job."""
    world = a_world()
    ray = {"headGroupSpec": {"template": a_template()}}
    spec = {"rayClusterSpec": ray, "submitterPodTemplate": a_template()}
    submitted(world, {"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec})
    world.advance(10)
    status = world.store.get("rayjobs.ray.io", "default", "parent")["status"]
    assert status["jobDeploymentStatus"] == "Complete"


def a_jobset(template):
    jobs = [{"name": "a", "template": {"spec": {"template": template}}}]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {"replicatedJobs": jobs},
    }


def test_a_jobset_restarts_its_pods_unless_they_say_otherwise():
    """JobSet's webhook sets OnFailure: a Job without a restart policy is refused."""
    world = a_world()
    submitted(world, a_jobset(a_template()))
    job = world.store.get("jobs.batch", "default", "parent-a-0")
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_a_child_that_the_api_server_refuses_is_an_event():
    """With what the server said; the operator tries again."""
    world = a_world()
    submitted(world, a_jobset(a_template(restartPolicy="Always")))
    reason, message = warnings(world)["JobSet"]
    assert reason == "FailedCreate"
    assert message.startswith("Error creating Job parent-a-0: ")
    assert "restartPolicy" in message


def test_a_child_whose_kind_is_not_served_is_an_event():
    """A member may have the definition of RayJobs and none of RayClusters."""
    world = a_world(without="RayCluster")
    spec = {"rayClusterSpec": {"headGroupSpec": {"template": a_template()}}}
    submitted(world, {"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec})
    assert warnings(world)["RayJob"] == (
        "FailedCreate",
        "Error creating RayCluster parent-raycluster: this cluster does not serve rayclusters.ray.io",
    )

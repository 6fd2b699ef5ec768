"""What KubeRay adds to a cluster is reserved with it."""

import pytest

from tests.workkinds.build import a_pod, an_object, counts, pods, read

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


def _cluster(*groups, **spec):
    return {
        "headGroupSpec": {"template": a_pod("1", "2Gi")},
        "workerGroupSpecs": [{"template": a_pod(), **group} for group in groups],
        **spec,
    }


def _ray_cluster(*groups, annotations=None, **spec):
    return an_object(
        "ray.io/v1", "RayCluster", _cluster(*groups, **spec), annotations=annotations or {}
    )


def _ray_job(*groups, **spec):
    said = {"shutdownAfterJobFinishes": True, "rayClusterSpec": _cluster(*groups), **spec}
    return an_object("ray.io/v1", "RayJob", said)


@pytest.mark.parametrize(
    ("group", "count"),
    [
        ({}, 0),
        ({"replicas": 2, "numOfHosts": 4}, 8),
        ({"replicas": 1, "minReplicas": 3}, 3),
        ({"replicas": 5, "maxReplicas": 3}, 5),
    ],
)
def test_of_two_readings_of_a_count_the_larger_is_reserved(group, count):
    """The operator raises replicas to the least and may ignore the most; hosts multiply them."""
    assert counts(read(_ray_cluster({"groupName": "w", **group}))) == {"head": 1, "w": count}


def test_the_autoscalers_own_resources():
    """Where they are said they count instead of the default."""
    options = {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
    cluster = _ray_cluster(
        annotations=ELASTIC, enableInTreeAutoscaling=True, autoscalerOptions=options
    )
    assert pods(read(cluster))["head"] == (1, {"cpu": "3", "memory": "3Gi"})


def test_fault_tolerance_raises_the_first_container():
    """By its options as by the annotation."""
    cluster = _ray_cluster(gcsFaultToleranceOptions={"redisAddress": "r:6379"})
    cluster["spec"]["headGroupSpec"]["template"] = a_pod("100m", "64Mi")
    assert pods(read(cluster))["head"] == (1, {"cpu": "200m", "memory": "256Mi"})


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (_ray_cluster({"groupName": "Head", "replicas": 1}), "called head"),
        (_ray_cluster(enableInTreeAutoscaling=True), "elastic-job"),
        (_ray_cluster({"groupName": "a"}, {"groupName": "A"}), "two pod sets are called a"),
        (_ray_cluster({"replicas": 1}), "has no name"),
        (_ray_cluster(headGroupSpec={}), "headGroupSpec has no template"),
        (_ray_cluster({"groupName": "w", "replicas": "many"}), "the count of worker w"),
        (_ray_job(shutdownAfterJobFinishes=False), "shutdownAfterJobFinishes"),
        (_ray_job(*({"groupName": f"g{n}"} for n in range(18))), "more than 18 pod sets"),
    ],
)
def test_what_would_run_beside_its_quota_is_refused(job, said):
    """Each refusal names what is wrong."""
    found = read(job)
    assert found.outcome == "refused"
    assert said in found.reason


def test_a_job_on_a_cluster_that_is_there_is_unmanaged():
    """`clusterSelector`: the cluster holds the quota."""
    found = read(_ray_job(clusterSelector={"ray.io/cluster": "c"}))
    assert found.outcome == "unmanaged"
    assert "clusterSelector" in found.reason


@pytest.mark.parametrize(
    ("mode", "sets"),
    [
        ("K8sJobMode", {"head": 1, "submitter": 1}),
        ("HTTPMode", {"head": 1}),
        ("InteractiveMode", {"head": 1}),
        ("SidecarMode", {"head": 1}),
    ],
)
def test_who_submits(mode, sets):
    """A pod of its own in one mode only; its template is ignored in the others."""
    job = _ray_job(submissionMode=mode, submitterPodTemplate=a_pod("3", "3Gi"))
    assert counts(read(job)) == sets


def test_a_submitter_of_its_own_is_as_it_says():
    """A template that asks for nothing gets no default."""
    template = {"spec": {"containers": [{"name": "s"}], "priorityClassName": "low"}}
    found = read(_ray_job(submitterPodTemplate=template))
    assert pods(found)["submitter"] == (1, {})
    assert (found.priority_class, found.priority_kind) == ("low", "PriorityClass")

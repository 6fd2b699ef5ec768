"""Kinds that are no data: Spark's memory, runtimes of TrainJobs, what an AppWrapper wraps."""

import pytest

from tests.workkinds.build import a_job, a_pod, an_object, counts, pods, read, read_all

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def _spark(executor=None, **spec):
    said = {"type": "Java", "driver": {}, "executor": executor or {}, **spec}
    return an_object("sparkoperator.k8s.io/v1beta2", "SparkApplication", said)


@pytest.mark.parametrize(
    ("spec", "executor", "memory"),
    [
        ({}, {}, "1408Mi"),  # 1g and the least overhead
        ({}, {"memory": "10g"}, "11Gi"),
        ({"type": "Python"}, {"memory": "10g"}, "14Gi"),
        ({"memoryOverheadFactor": "0.2"}, {"memory": "10g"}, "12Gi"),
        ({}, {"memory": "10240"}, "11Gi"),
        ({}, {"memory": "2G", "memoryOverhead": "512m"}, "2560Mi"),
    ],
)
def test_memory_is_sparks_own_formula(spec, executor, memory):
    """Java units, and the overhead that Spark adds to what is asked for."""
    found = pods(read(_spark(executor={"instances": 1, **executor}, **spec)))
    assert found["executor"] == (1, {"cpu": "1", "memory": memory})


def test_executors_that_nobody_counts_are_none():
    """Without `instances` there are no executors; gpus and sidecars count."""
    driver = {
        "cores": 2,
        "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
        "sidecars": [{"name": "s", "resources": {"requests": {"cpu": "500m"}}}],
    }
    found = pods(read(_spark(driver=driver)))
    assert found["driver"] == (1, {"cpu": "2500m", "memory": "1408Mi", "nvidia.com/gpu": "1"})
    assert found["executor"][0] == 0


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"mode": "client"}, "mode cluster"),
        ({"dynamicAllocation": {"enabled": True}}, "dynamicAllocation"),
        ({"driver": {"memory": "much"}}, "spec.driver.memory"),
        ({"memoryOverheadFactor": "x"}, "memoryOverheadFactor"),
        ({"executor": {"instances": -1}}, "instances"),
    ],
)
def test_spark_that_is_refused(spec, said):
    """What would run beside its reservation, or cannot be read."""
    found = read(_spark(**spec))
    assert found.outcome == "refused"
    assert said in found.reason


def _train_job(**spec):
    said = {"runtimeRef": {"name": "r"}, **spec}
    return an_object("trainer.kubeflow.org/v1alpha1", "TrainJob", said)


def _runtime(*jobs, kind="ClusterTrainingRuntime", **policy):
    spec = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs)}}}
    made = an_object("trainer.kubeflow.org/v1alpha1", kind, spec, name="r", labels={})
    if kind == "ClusterTrainingRuntime":
        del made["metadata"]["namespace"]
    return made


def _replicated(name, step="", **spec):
    labels = {STEP: step} if step else {}
    template = {"metadata": {"labels": labels}, "spec": {"template": a_pod(), **spec}}
    return {"name": name, "template": template}


def test_a_train_job_waits_for_its_runtime():
    """Its pods are those of another object, which is not there yet."""
    found = read(_train_job())
    assert found.outcome == "waiting"
    assert "ClusterTrainingRuntime r" in found.reason


def test_the_runtimes_own_count_is_a_default():
    """Initialisers are charged as the runtime has them; the trainer's nodes are those of its policy."""
    runtime = _runtime(
        _replicated("data", "dataset-initializer"),
        _replicated("node", "trainer", parallelism=9),
        numNodes=4,
    )
    assert counts(read(_train_job(), runtime)) == {"data": 1, "node": 4}


def test_a_runtime_of_the_namespace():
    """TrainingRuntime is looked for beside the job, not among the cluster's."""
    runtime = _runtime(_replicated("node", "trainer"), kind="TrainingRuntime")
    ref = {"name": "r", "kind": "TrainingRuntime"}
    assert counts(read(_train_job(runtimeRef=ref), runtime)) == {"node": 1}
    assert read(_train_job(), runtime).outcome == "waiting"


@pytest.mark.parametrize(
    ("as_node", "nodes", "count"), [(False, 3, 3), (True, 3, 2), (True, 1, 1)]
)
def test_the_launcher_of_mpi_may_be_a_node(as_node, nodes, count):
    """Then there is one node fewer beside it, but one at least."""
    runtime = _runtime(
        _replicated("launcher", "trainer"), _replicated("node"), mpi={"runLauncherAsNode": as_node}
    )
    found = read(_train_job(trainer={"numNodes": nodes}), runtime)
    assert counts(found) == {"launcher": 1, "node": count}


def test_what_the_job_says_is_merged():
    """Resources of each node replace the runtime's; patches merge containers by name."""
    runtime = _runtime(_replicated("node", "trainer"))
    patch = {"name": "node", "template": {"spec": {"template": {"spec": {
        "containers": [{"name": "side", "resources": {"requests": {"cpu": "1"}}}],
        "priorityClassName": "high",
    }}}}}  # fmt: skip
    job = _train_job(
        trainer={"numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "6"}}},
        runtimePatches=[
            {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patch]}}}}
        ],
    )
    found = read(job, runtime)
    assert pods(found) == {"node": (2, {"cpu": "7"})}
    assert found.priority_class == "high"


def test_runtimes_are_no_work():
    """They are read with the jobs, and not told as objects."""
    runtime = _runtime(_replicated("node", "trainer"))
    assert [each.kind for each in read_all([runtime, _train_job()])] == ["TrainJob"]


def _wrapper(*components):
    return an_object(
        "workload.codeflare.dev/v1beta2", "AppWrapper", {"components": list(components)}, name="W"
    )


def test_what_is_wrapped_is_read_by_its_own_definition():
    """All pods of it, numbered through; what has no pods has no number."""
    ray = an_object(
        "ray.io/v1",
        "RayJob",
        {
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {
                "headGroupSpec": {"template": a_pod()},
                "workerGroupSpecs": [
                    {"groupName": "w", "replicas": 2, "numOfHosts": 2, "template": a_pod()}
                ],
            },
        },
    )
    service = an_object("v1", "Service", {"ports": [{"port": 1}]})
    deployment = an_object("apps/v1", "Deployment", {"replicas": 3, "template": a_pod()})
    wrapper = _wrapper(*({"template": each} for each in (ray, service, deployment)))
    assert counts(read(wrapper)) == {"w-0": 1, "w-1": 4, "w-2": 1, "w-3": 3}


def test_declared_pod_sets_go_before_what_is_read():
    """Of a kind without a definition it is told where its pods are."""
    swarm = an_object("example.org/v1", "Swarm", {"parts": [{"template": a_pod("3")}]})
    declared = [{"path": "template.spec.parts[0].template", "replicas": 2}]
    wrapper = _wrapper({"template": a_job()}, {"template": swarm, "podSets": declared})
    assert pods(read(wrapper))["w-1"] == (2, {"cpu": "3", "memory": "1Gi"})
    bare = read(_wrapper({"template": swarm}))
    assert bare.outcome == "refused"
    assert "example.org/v1 Swarm" in bare.reason


@pytest.mark.parametrize(
    ("component", "said"),
    [
        (
            {"template": a_job(parallelism=4), "podSets": [{"path": "template.spec.template"}]},
            "declares 1",
        ),
        ({"template": a_job(), "podSets": [{"path": "template.spec.none"}]}, "no pod template"),
        ({"template": an_object("batch/v1", "CronJob", {"jobTemplate": {}})}, "not known before"),
        ({"template": an_object("v1", "ConfigMap", {})}, "none of its components"),
    ],
)
def test_wrapped_work_that_is_refused(component, said):
    """Too few declared, nothing at the path, pods that nobody can count, and none at all."""
    found = read(_wrapper(component))
    assert found.outcome == "refused"
    assert said in found.reason

"""Objects of each built-in kind that jobs run as, with the pod template of a Job beside a harmless one."""

import copy
from collections.abc import Callable
from typing import Any

from tests.attack.hostile import harmless_job

Json = dict[str, Any]


def _as_jobset(template: Json) -> Json:
    harmless = harmless_job()["spec"]["template"]
    jobs = [
        {"name": n, "template": {"spec": {"template": t}}} for n, t in _two(harmless, template)
    ]
    return {"replicatedJobs": jobs}


def _as_roles(field: str) -> Callable[[Json], Json]:
    def spec(template: Json) -> Json:
        harmless = harmless_job()["spec"]["template"]
        roles = {n: {"replicas": 1, "template": t} for n, t in _two(harmless, template)}
        return {field: {**roles, "Evaluator": {"replicas": 0}}}

    return spec


def _as_ray(template: Json) -> Json:
    harmless = harmless_job()["spec"]["template"]
    groups = [{"groupName": n, "template": t} for n, t in _two(harmless, template)]
    return {"headGroupSpec": {"template": harmless}, "workerGroupSpecs": groups}


def _as_lws(template: Json) -> Json:
    harmless = harmless_job()["spec"]["template"]
    return {"leaderWorkerTemplate": {"leaderTemplate": harmless, "workerTemplate": template}}


def _as_spark(template: Json) -> Json:
    harmless = harmless_job()["spec"]["template"]
    return {"driver": {"template": harmless}, "executor": {"template": template}}


def _two(first: Json, second: Json) -> list[tuple[str, Json]]:
    return [("one", first), ("two", second)]


PARENTS = {
    "JobSet": _as_jobset,
    "JAXJob": _as_roles("jaxReplicaSpecs"),
    "MPIJob": _as_roles("mpiReplicaSpecs"),
    "PaddleJob": _as_roles("paddleReplicaSpecs"),
    "PyTorchJob": _as_roles("pytorchReplicaSpecs"),
    "TFJob": _as_roles("tfReplicaSpecs"),
    "XGBoostJob": _as_roles("xgbReplicaSpecs"),
    "LeaderWorkerSet": _as_lws,
    "SparkApplication": _as_spark,
    "RayCluster": _as_ray,
    "RayService": lambda template: {"rayClusterConfig": _as_ray(template)},
    "RayJob": lambda template: {"rayClusterSpec": _as_ray(template)},
    "RayJob of a submitter": lambda template: {"submitterPodTemplate": template},
}


def parent_of(kind: str, job: Json) -> Json:
    """An object of this kind with the pod template of a Job beside a harmless one."""
    spec = PARENTS[kind](copy.deepcopy(job["spec"]["template"]))
    return {**job, "kind": kind.partition(" ")[0], "spec": spec}

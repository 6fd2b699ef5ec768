"""What the operators of a few kinds make of an object, and what they write of it. Pure.

Names, states and fields are those of JobSet v0.8, Kubeflow's training operator v1 and KubeRay v1: as much of
them as a queue reads. All start what they make when the object is not suspended, and delete it when it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.kubesim.operators import services
from shared.kubesim.operators.parts import (
    JOBS,
    RAY_CLUSTERS,
    Object,
    OperatorChild,
    condition,
    has_condition,
    is_suspended,
    is_true_of,
    job_child,
    phase_of,
    pod_child,
    with_condition,
)
from shared.kubesim.operators.spark import (
    SPARK,
    has_ended_spark,
    leaves_driver,
    pods_of_spark,
    status_of_spark,
)
from shared.kubesim.operators.wrapper import (
    APP_WRAPPERS,
    has_ended_wrapper,
    status_of_wrapper,
    wrapped_objects,
)


@dataclass(frozen=True, slots=True)
class Script:
    """How one kind is run. `children` gets what is there by name; `status` the same, and the instant."""

    held: Callable[[Object], bool]
    children: Callable[[Object, Mapping[str, Object]], list[OperatorChild]]
    status: Callable[[Object, Mapping[str, Object], str], Object]
    ended: Callable[[Object], bool]
    # Once the object has ended it deletes what it made, by resource and name, but for these; None: nothing.
    leaves: Callable[[str, str], bool] | None = None
    scales: bool = (
        False  # whether it deletes what it made and no longer wants, or sets its replicas
    )
    looks_below: bool = False  # `status` gets all descendants, by uid


# --- JobSet ------------------------------------------------------------------------------------------


def _replicated(jobset: Object) -> list[tuple[Object, list[str]]]:
    name = jobset["metadata"]["name"]
    return [
        (each, [f"{name}-{each['name']}-{index}" for index in range(each.get("replicas") or 1)])
        for each in jobset["spec"].get("replicatedJobs") or ()
    ]


def _spec_in_set(template: Object) -> Object:
    """The spec of a Job. Without a restart policy its pods get OnFailure, as JobSet's webhook sets it."""
    spec = template["spec"]
    pod = (spec.get("template") or {}).get("spec") or {}
    return {
        **spec,
        "template": {**spec["template"], "spec": {"restartPolicy": "OnFailure", **pod}},
    }


def _jobs_of_set(jobset: Object, _: Mapping[str, Object]) -> list[OperatorChild]:
    return [
        job_child(_spec_in_set(each["template"]), name, each["template"].get("metadata"))
        for each, names in _replicated(jobset)
        for name in names
    ]


def _status_of_set(jobset: Object, there: Mapping[str, Object], at: str) -> Object:
    status = dict(jobset.get("status") or {})
    rows = []
    for each, names in _replicated(jobset):
        jobs = [there[name] for name in names if name in there]
        ended = [job for job in jobs if is_true_of(job, "Complete") or is_true_of(job, "Failed")]
        counts = [job.get("status") or {} for job in jobs]
        rows.append(
            {
                "name": each["name"],
                "ready": sum(bool(count.get("ready")) for count in counts),
                "active": sum(bool(count.get("active")) for count in counts),
                "succeeded": sum(is_true_of(job, "Complete") for job in ended),
                "failed": sum(is_true_of(job, "Failed") for job in ended),
                "suspended": sum(bool(job["spec"].get("suspend")) for job in jobs),
            }
        )
    status["replicatedJobsStatus"] = rows
    if any(row["failed"] for row in rows):
        return with_condition(status, condition("Failed", at, "FailedJobs"))
    wanted = sum(len(names) for _, names in _replicated(jobset))
    if wanted and sum(row["succeeded"] for row in rows) == wanted:
        return with_condition(status, condition("Completed", at, "AllJobsCompleted"))
    held = "True" if jobset["spec"].get("suspend") else "False"
    return with_condition(status, {**condition("Suspended", at), "status": held})


# --- training jobs of Kubeflow -----------------------------------------------------------------------

# By kind: the field of its roles, and the roles of which the first that it has tells the end.
_TRAINING: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "JAXJob": ("jaxReplicaSpecs", ("Worker",)),
    "MPIJob": ("mpiReplicaSpecs", ("Launcher",)),
    "PaddleJob": ("paddleReplicaSpecs", ("Master", "Worker")),
    "PyTorchJob": ("pytorchReplicaSpecs", ("Master", "Worker")),
    "TFJob": ("tfReplicaSpecs", ("Chief", "Master", "Worker")),
    "XGBoostJob": ("xgbReplicaSpecs", ("Master", "Worker")),
}


def _roles(job: Object) -> list[tuple[str, Object, list[str]]]:
    name, (field, _) = job["metadata"]["name"], _TRAINING[job["kind"]]
    return [
        (role, each, [f"{name}-{role.lower()}-{n}" for n in range(each.get("replicas") or 1)])
        for role, each in (job["spec"].get(field) or {}).items()
    ]


def _role_template(role: Object) -> Object:
    """The role's restart policy goes before that of its template; without either it is OnFailure."""
    template, asked = role["template"], role.get("restartPolicy")
    policy = {"restartPolicy": "OnFailure", **(template.get("spec") or {})}
    if asked:
        policy["restartPolicy"] = "Never" if asked == "ExitCode" else asked
    return {**template, "spec": policy}


def _pods_of_training(job: Object, _: Mapping[str, Object]) -> list[OperatorChild]:
    return [
        pod_child(_role_template(each), name) for _, each, names in _roles(job) for name in names
    ]


def _status_of_training(job: Object, there: Mapping[str, Object], at: str) -> Object:
    kind, status = job["kind"], {"conditions": [], **(job.get("status") or {})}
    status = with_condition(status, condition("Created", at, f"{kind}Created"))
    phases = {
        role: [phase_of(there[n]) for n in names if n in there] for role, _, names in _roles(job)
    }
    status["replicaStatuses"] = {
        role: {
            "active": sum(phase == "Running" for phase in found),
            "succeeded": found.count("Succeeded"),
            "failed": found.count("Failed"),
        }
        for role, found in phases.items()
    }
    leading = next((phases[each] for each in _TRAINING[kind][1] if phases.get(each)), [])
    if any("Failed" in found for found in phases.values()):
        return _ended_training(
            with_condition(status, condition("Failed", at, f"{kind}Failed")), at
        )
    if leading and all(phase == "Succeeded" for phase in leading):
        return _ended_training(
            with_condition(status, condition("Succeeded", at, f"{kind}Succeeded")), at
        )
    held = "True" if _is_held_training(job) else "False"
    status = with_condition(status, {**condition("Suspended", at), "status": held})
    runs = "True" if "Running" in leading else "False"
    return with_condition(status, {**condition("Running", at, f"{kind}Running"), "status": runs})


def _ended_training(status: Object, at: str) -> Object:
    runs = {**condition("Running", at), "status": "False"}
    return {"completionTime": at, **with_condition(status, runs)}


def _is_held_training(job: Object) -> bool:
    return bool((job["spec"].get("runPolicy") or {}).get("suspend"))


# --- RayCluster and RayJob ---------------------------------------------------------------------------


def _pods_of_ray(cluster: Object, _: Mapping[str, Object]) -> list[OperatorChild]:
    name, spec = cluster["metadata"]["name"], cluster["spec"]
    made = [pod_child(spec["headGroupSpec"]["template"], f"{name}-head")]
    for group in spec.get("workerGroupSpecs") or ():
        made += [
            pod_child(group["template"], f"{name}-{group['groupName']}-{index}")
            for index in range(group.get("replicas") or 0)
        ]
    return made


def _status_of_ray(cluster: Object, there: Mapping[str, Object], _: str) -> Object:
    wanted = len(_pods_of_ray(cluster, there))
    if cluster["spec"].get("suspend"):
        return {"state": "suspended" if not there else ""}
    ready = sum(phase_of(pod) == "Running" for pod in there.values()) == wanted
    return {"state": "ready" if ready else ""}


def _cluster_of(job: Object) -> OperatorChild:
    """KubeRay copies the labels of a RayJob to its cluster."""
    metadata = {
        "name": f"{job['metadata']['name']}-raycluster",
        "labels": dict(job["metadata"].get("labels") or {}),
    }
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata}
    return OperatorChild(
        RAY_CLUSTERS, {**manifest, "spec": job["spec"].get("rayClusterSpec") or {}}
    )


def _children_of_ray_job(job: Object, there: Mapping[str, Object]) -> list[OperatorChild]:
    cluster, submitter = _cluster_of(job), job["metadata"]["name"]
    live = there.get(cluster.manifest["metadata"]["name"]) or {}
    if submitter not in there and (live.get("status") or {}).get("state") != "ready":
        return [cluster]
    default = {"spec": {"containers": [{"name": "ray-job-submitter", "image": "ray"}]}}
    template = {**(job["spec"].get("submitterPodTemplate") or default)}
    template["spec"] = {"restartPolicy": "Never", **template["spec"]}
    return [cluster, job_child({"backoffLimit": 0, "template": template}, submitter)]


def _status_of_ray_job(job: Object, there: Mapping[str, Object], at: str) -> Object:
    submitter = there.get(job["metadata"]["name"])
    cluster = there.get(f"{job['metadata']['name']}-raycluster") or {}
    if job["spec"].get("suspend"):
        return {"jobDeploymentStatus": "Suspending" if there else "Suspended"}
    status = {"rayClusterStatus": cluster.get("status") or {}}
    if submitter is None:
        return {**status, "jobDeploymentStatus": "Initializing", "jobStatus": ""}
    if is_true_of(submitter, "Complete"):
        ended = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "endTime": at}
        return {**status, **ended}
    if is_true_of(submitter, "Failed"):
        ended = {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "endTime": at}
        return {**status, **ended, "reason": "AppFailed"}
    return {**status, "jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}


SCRIPTS: Final[Mapping[str, Script]] = {
    "jobsets.jobset.x-k8s.io": Script(
        is_suspended,
        _jobs_of_set,
        _status_of_set,
        lambda obj: has_condition(obj.get("status") or {}, "Completed", "Failed"),
    ),
    **{
        f"{kind.lower()}s.kubeflow.org": Script(
            _is_held_training,
            _pods_of_training,
            _status_of_training,
            lambda obj: has_condition(obj.get("status") or {}, "Succeeded", "Failed"),
        )
        for kind in _TRAINING
    },
    SPARK: Script(is_suspended, pods_of_spark, status_of_spark, has_ended_spark, leaves_driver),
    APP_WRAPPERS: Script(is_suspended, wrapped_objects, status_of_wrapper, has_ended_wrapper),
    RAY_CLUSTERS: Script(is_suspended, _pods_of_ray, _status_of_ray, lambda _: False, scales=True),
    "rayservices.ray.io": Script(
        services.is_held_ray_service,
        services.cluster_of_ray_service,
        services.status_of_ray_service,
        lambda _: False,
    ),
    services.LEADER_WORKER_SETS: Script(
        lambda _: False,
        services.leaders,
        services.status_of_lws,
        lambda _: False,
        scales=True,
        looks_below=True,
    ),
    services.STATEFUL_SETS: Script(
        lambda _: False,
        services.pods_of_set,
        services.status_of_stateful_set,
        lambda _: False,
        scales=True,
    ),
    "rayjobs.ray.io": Script(
        is_suspended,
        _children_of_ray_job,
        _status_of_ray_job,
        lambda obj: (obj.get("status") or {}).get("jobDeploymentStatus") in {"Complete", "Failed"},
        leaves=lambda key, _: key == JOBS,
    ),
}

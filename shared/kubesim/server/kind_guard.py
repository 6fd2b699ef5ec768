"""Admission on a hub cluster: of what runs pods only kinds that the hub dispatches name a queue.

The built-in equivalent of policy roadstead-kinds in deploy/hub-cluster/job-guard.yaml, word for word.
"""

from typing import Final, Literal

from shared import labels
from shared.kinds.dispatched import BY_REST, names_queue
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.server.job_guard import denied

POLICY: Final = "roadstead-kinds"
_BESIDE: Final = (
    "it names a queue, and the operator here would run it beside Roadstead: create it with "
)
OF_SPEC_WAITS: Final = f"{_BESIDE}spec.managedBy: kueue.x-k8s.io/multikueue"
OF_RUN_POLICY_WAITS: Final = f"{_BESIDE}spec.runPolicy.managedBy: kueue.x-k8s.io/multikueue"
UNMANAGED_WAITS: Final = (
    "it names a queue, and no field keeps the operator here from running it: submit it with "
    "`roadstead submit`"
)
CRON_JOB_WAITS: Final = (
    "it names a queue, and no field keeps the controller here from running it: apply it to the hub with "
    "`roadstead apply`"
)
WAITS: Final = (
    "it names a queue, and Roadstead does not dispatch its kind: "
    "take kueue.x-k8s.io/queue-name off"
)
KEYS: Final = frozenset(
    {
        "pods",
        "cronjobs.batch",
        "deployments.apps",
        "statefulsets.apps",
        "daemonsets.apps",
        "replicasets.apps",
    }
)
# Kinds that are dispatched, by where their managedBy is.
OF_SPEC: Final = frozenset({"AppWrapper", "JobSet", "RayCluster", "RayJob", "RayService"})
OF_RUN_POLICY: Final = frozenset(
    {"JAXJob", "MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob"}
)
_UNMANAGED: Final = frozenset(kind for _, kind in BY_REST)
DISPATCHED_KEYS: Final = frozenset(
    {
        "jobsets.jobset.x-k8s.io",
        "rayclusters.ray.io",
        "rayjobs.ray.io",
        "rayservices.ray.io",
        "appwrappers.workload.codeflare.dev",
        *(f"{kind.lower()}s.kubeflow.org" for kind in OF_RUN_POLICY),
    }
)
GROUPS: Final[tuple[str, ...]] = (
    "jobset.x-k8s.io",
    "kubeflow.org",
    "trainer.kubeflow.org",
    "ray.io",
    "leaderworkerset.x-k8s.io",
    "sparkoperator.k8s.io",
    "workload.codeflare.dev",
    "batch.volcano.sh",
    "serving.kserve.io",
    "tekton.dev",
    "argoproj.io",
    "inference.networking.k8s.io",
    "inference.networking.x-k8s.io",
)


def admit(
    operation: Literal["CREATE", "UPDATE"], resource: Resource, new: Object, old: Object | None
) -> Object:
    """An admission step. Raises ApiError Invalid, as a policy's refusal reads."""
    if resource.key not in KEYS and resource.key.partition(".")[2] not in GROUPS:
        return new
    newly = _is_queued(new) and not (old and _is_queued(old))
    if newly and metadata.controller_of(new) is None and not is_left_alone(new):
        raise denied(POLICY, new["metadata"].get("name") or "", waits(new), resource.key)
    return new


def waits(obj: Object) -> str:
    """The refusal of an object of this kind that names a queue, with its remedy."""
    kind = obj.get("kind")
    if kind in OF_SPEC:
        return OF_SPEC_WAITS
    if kind in OF_RUN_POLICY:
        return OF_RUN_POLICY_WAITS
    if kind in _UNMANAGED:
        return UNMANAGED_WAITS
    return CRON_JOB_WAITS if kind == "CronJob" else WAITS


def is_left_alone(obj: Object) -> bool:
    """Whether the operators of this cluster leave an object of a dispatched kind alone."""
    spec, kind = obj.get("spec") or {}, obj.get("kind")
    at = (
        spec if kind in OF_SPEC else (spec.get("runPolicy") or {}) if kind in OF_RUN_POLICY else {}
    )
    return at.get("managedBy") == labels.MULTIKUEUE_CONTROLLER


def _is_queued(obj: Object) -> bool:
    """True if its label or its annotation names a queue, or those of a CronJob's Job template do."""
    if names_queue(obj["metadata"]):
        return True
    template = (obj.get("spec") or {}).get("jobTemplate") or {}
    return obj.get("kind") == "CronJob" and names_queue(template.get("metadata"))

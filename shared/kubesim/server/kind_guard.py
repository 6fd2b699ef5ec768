"""Admission on a hub cluster: what runs pods and is neither Job nor Workload names no queue.

The built-in equivalent of policy roadstead-kinds in deploy/hub-cluster/job-guard.yaml, word for word.
"""

from typing import Final, Literal

from shared import labels
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.server.job_guard import denied

POLICY: Final = "roadstead-kinds"
WAITS: Final = (
    "it names a queue, and Roadstead admits Jobs and bare Workloads only, so that it would wait for ever: "
    "take the label kueue.x-k8s.io/queue-name off, and create Jobs, or a Workload for its quota"
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
    if _is_queued(new) and not (old and _is_queued(old)) and metadata.controller_of(new) is None:
        raise denied(POLICY, new["metadata"].get("name") or "", WAITS, resource.key)
    return new


def _is_queued(obj: Object) -> bool:
    return bool((obj["metadata"].get("labels") or {}).get(labels.QUEUE_NAME))

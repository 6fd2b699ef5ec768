"""Kinds besides Jobs that the hub queues and gives to members: those that fields of the spec hold.

A list here, as whoever reads manifests must not need jq; `tests/workkinds` holds it equal to the built-in
definitions whose pods all have templates, and that need neither a plug-in nor another kind of holding.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from shared import labels
from shared.errors import Rejected
from shared.reject_codes import RejectCode

DISPATCHED: Final = frozenset(
    {
        ("jobset.x-k8s.io/v1alpha2", "JobSet"),
        ("kubeflow.org/v1", "JAXJob"),
        ("kubeflow.org/v1", "PaddleJob"),
        ("kubeflow.org/v1", "PyTorchJob"),
        ("kubeflow.org/v1", "TFJob"),
        ("kubeflow.org/v1", "XGBoostJob"),
        ("kubeflow.org/v2beta1", "MPIJob"),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ("ray.io/v1", "RayCluster"),
        ("ray.io/v1", "RayJob"),
        ("ray.io/v1", "RayService"),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
        ("workload.codeflare.dev/v1beta2", "AppWrapper"),
    }
)
# Kinds without managedBy: no operator of a hub cluster leaves them alone, so that they come by REST alone.
BY_REST: Final = frozenset(
    {
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
    }
)
_JOB: Final = ("batch/v1", "Job")
CRON_JOB: Final = ("batch/v1", "CronJob")  # the hub keeps its schedule, and queues its Jobs
GROUPED: Final = frozenset((version.partition("/")[0], kind) for version, kind in DISPATCHED)
NAMED: Final = ", ".join(sorted(kind for _, kind in DISPATCHED))


def is_dispatched(api_version: object, kind: object) -> bool:
    """Whether objects of a kind become work of a queue; Jobs and Workloads are read by other code."""
    return (api_version, kind) in DISPATCHED


def dispatch_of(api_version: object, kind: object) -> Literal["yes", "by REST", "no"]:
    """Whether the hub queues objects of a built-in kind, and by which doors: all, REST alone, or none."""
    one = (api_version, kind)
    if one in BY_REST or one == CRON_JOB:
        return "by REST"
    return "yes" if one in DISPATCHED or one == _JOB else "no"


def names_queue(metadata: object) -> bool:
    """Whether a label or an annotation names a queue."""
    return isinstance(metadata, Mapping) and any(
        isinstance(marks := metadata.get(part), Mapping) and marks.get(labels.QUEUE_NAME)
        for part in ("labels", "annotations")
    )


def is_work(document: Mapping[str, Any]) -> bool:
    """Whether an object is work of such a kind: it names a queue."""
    kind = document.get("apiVersion"), document.get("kind")
    return is_dispatched(*kind) and names_queue(document.get("metadata"))


def unqueued_notice(api_version: str, kind: str, metadata: object) -> str:
    """The warning about an object of such a kind without a queue; "" of every other object.

    The label of a pod template names no queue: no code reads it.
    """
    if not is_dispatched(api_version, kind) or names_queue(metadata):
        return ""
    return (
        f"metadata.labels[{labels.QUEUE_NAME}]: the {kind} names no LocalQueue: it waits in none, and runs "
        "only where a placement selects it; name a LocalQueue there to have it queued"
    )


def require_queue(document: Mapping[str, Any]) -> None:
    """Raise Rejected (QueueRequired) for an object of such a kind that names no queue."""
    if not names_queue(document.get("metadata")):
        field = f"metadata.labels[{labels.QUEUE_NAME}]"
        text = (
            f"{field}: a {document.get('kind')} is queued where it names its LocalQueue: name one of its "
            "namespace there, or default, which a hub without queues of an administrator provides"
        )
        raise Rejected(RejectCode.QUEUE_REQUIRED, text, field)

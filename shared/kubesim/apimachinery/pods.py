"""Common rules for pods of the Job controller, the scheduler and the kubelets."""

from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.strategies import Object

TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"


TERMINAL = frozenset({"Succeeded", "Failed"})


def without_finalizer(pod: Object) -> Object:
    """The pod without the tracking finalizer."""
    left = [f for f in pod["metadata"].get("finalizers") or () if f != TRACKING_FINALIZER]
    return metadata.with_metadata(pod, finalizers=left or None)

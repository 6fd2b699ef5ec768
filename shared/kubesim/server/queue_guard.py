"""Admission on a hub cluster: a Job of Roadstead that has a queue keeps one.

The built-in equivalent of policy roadstead-queues in deploy/hub-cluster/job-guard.yaml, word for word.
"""

from typing import Final, Literal

from shared import labels
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.apimachinery.writer import writer
from shared.kubesim.server.job_guard import denied, is_marked
from shared.kubesim.server.mirror_guard import HUB

POLICY: Final = "roadstead-queues"
KEEPS: Final = (
    "a Job of Roadstead keeps a queue: set the label kueue.x-k8s.io/queue-name to another one, or delete the "
    "Job and create it again"
)


def admit(
    operation: Literal["CREATE", "UPDATE"], resource: Resource, new: Object, old: Object | None
) -> Object:
    """An admission step. Raises ApiError Invalid, as a policy's refusal reads."""
    if resource.key != "jobs.batch" or old is None or writer() == HUB.name:
        return new
    leaving = "deletionTimestamp" in old["metadata"]
    if _is_ours(old) and not leaving and _is_queued(old) and not _is_queued(new):
        raise denied(POLICY, old["metadata"]["name"], KEEPS)
    return new


def _is_ours(job: Object) -> bool:
    """Tell a Job of Roadstead that has a queue; where managers are not known, it is suspended."""
    if labels.FINALIZER in (job["metadata"].get("finalizers") or ()):
        return True
    if job["spec"].get("managedBy"):
        return is_marked(job)
    return bool(job["spec"].get("suspend")) and metadata.controller_of(job) is None


def _is_queued(job: Object) -> bool:
    meta = job["metadata"]
    return any((meta.get(part) or {}).get(labels.QUEUE_NAME) for part in ("labels", "annotations"))

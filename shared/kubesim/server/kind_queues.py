"""Admission on a hub cluster: what Roadstead dispatches of other kinds keeps its queue and its managedBy.

The built-in equivalent of policy roadstead-kinds-queues in deploy/hub-cluster/job-guard.yaml, word for word.
"""

from typing import Final, Literal

from shared import labels
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.apimachinery.writer import writer
from shared.kubesim.server.job_guard import denied
from shared.kubesim.server.kind_guard import DISPATCHED_KEYS, is_left_alone
from shared.kubesim.server.mirror_guard import HUB

POLICY: Final = "roadstead-kinds-queues"
KEEPS: Final = (
    "an object that Roadstead dispatches keeps a queue: set the label kueue.x-k8s.io/queue-name to another "
    "one, or delete the object and create it again"
)
KEEPS_MARK: Final = (
    "an object that Roadstead dispatches keeps managedBy: kueue.x-k8s.io/multikueue, without which the "
    "operator here would run it beside the member: delete the object and create another"
)
NO_CONTROLLER: Final = (
    "an object that Roadstead dispatches gets no controller: create another one with its owner"
)


def admit(
    operation: Literal["CREATE", "UPDATE"], resource: Resource, new: Object, old: Object | None
) -> Object:
    """An admission step. Raises ApiError Invalid, as a policy's refusal reads."""
    if resource.key not in DISPATCHED_KEYS or old is None or writer() == HUB.name:
        return new
    held = old["metadata"]
    finalized = labels.FINALIZER in (held.get("finalizers") or ())
    ours = is_left_alone(old) or finalized
    if not ours or "deletionTimestamp" in held or metadata.controller_of(old) is not None:
        return new
    if names_a_queue(old) and not names_a_queue(new):
        raise denied(POLICY, held["name"], KEEPS, resource.key)
    taken = is_left_alone(old) and (names_a_queue(old) or finalized)
    if taken and not is_left_alone(new):
        raise denied(POLICY, held["name"], KEEPS_MARK, resource.key)
    if taken and metadata.controller_of(new) is not None:
        raise denied(POLICY, held["name"], NO_CONTROLLER, resource.key)
    return new


def names_a_queue(obj: Object) -> bool:
    """Tell if a label or an annotation names a queue."""
    held = obj["metadata"]
    return any((held.get(part) or {}).get(labels.QUEUE_NAME) for part in ("labels", "annotations"))

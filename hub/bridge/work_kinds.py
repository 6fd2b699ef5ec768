"""Kinds besides Job that the bridge takes as work, where the hub cluster serves them.

An operator there must leave such an object alone while members run it: `managedBy` names MultiKueue, as
Kueue's own users write it, and its API server lets nobody change that. No other object of these kinds is
taken as work.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from hub.bridge.kinds import JOB, Mirrored
from shared import labels
from shared.conditions import is_true
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.kinds.dispatched import BY_REST, DISPATCHED, is_work, names_queue
from shared.kinds.metadata import controllers_of
from shared.pointers import value_at
from shared.reject_codes import RejectCode


class Phases(NamedTuple):
    """A field of the status, and its values."""

    field: str
    waiting: str
    succeeded: str
    failed: str
    has_message: bool  # beside it; else a condition tells why


WORK_KINDS: Final = tuple(
    Mirrored(
        version.partition("/")[0], kind, (version.partition("/")[2],), finalized=True, order=8
    )
    for version, kind in sorted(DISPATCHED)
)
_OF_WORK: Final = frozenset((each.group, each.kind) for each in WORK_KINDS)
_MARKS: Final = ("/spec/managedBy", "/spec/runPolicy/managedBy")
_OF_RUN_POLICY: Final = "kubeflow.org"
_UNMANAGED: Final = frozenset(kind for _, kind in BY_REST)
_ENDS: Final = ("Completed", "Succeeded", "Failed")  # conditions
# Of kinds that tell it by a phase: where it is, that of an object that waits, and those of its ends.
PHASES: Final[Mapping[str, Phases]] = {
    "RayJob": Phases("jobDeploymentStatus", "Suspended", "Complete", "Failed", has_message=True),
    "AppWrapper": Phases("phase", "Suspended", "Succeeded", "Failed", has_message=False),
}


def is_work_kind(kind: Mirrored) -> bool:
    """Whether objects of this kind, Jobs or others, may be work."""
    return kind == JOB or is_other_work((kind.group, kind.kind))


def is_other_work(kind: tuple[str, str]) -> bool:
    """The same of group and kind, Jobs left out."""
    return kind in _OF_WORK


def is_queued(obj: Json) -> bool:
    """Whether an object of such a kind is work: it names a queue, and no controller owns it."""
    return is_work(obj) and not controllers_of(obj["metadata"])


def is_left_alone(obj: JsonView) -> bool:
    """Whether the operator of the hub cluster leaves it alone, by managedBy."""
    return obj.get("kind") not in _UNMANAGED and any(
        value_at(obj, each) == labels.MULTIKUEUE_CONTROLLER for each in _MARKS
    )


def not_left_alone(obj: JsonView) -> Rejected:
    """The refusal of work that the operator of the hub cluster may start there too."""
    kind = obj["kind"]
    if kind in _UNMANAGED:
        text = (
            f"a {kind} has no managedBy, by which an operator of the hub cluster would leave it alone: "
            "delete it here, and submit it with `roadstead submit`"
        )
        return Rejected(RejectCode.JOBS_UNPROTECTED, text, "kind")
    field = _manager_field(obj)
    text = (
        f"an operator of the hub cluster may start it while it runs in a member: make the {kind} with "
        f"{field}: {labels.MULTIKUEUE_CONTROLLER}"
    )
    return Rejected(RejectCode.JOBS_UNPROTECTED, text, field)


def no_longer_left_alone(obj: JsonView) -> Rejected:
    """The warning about work that lost its managedBy after the hub had taken it."""
    field, kind = _manager_field(obj), obj["kind"]
    text = (
        f"{field} was taken off: an operator of the hub cluster may run this {kind} beside the hub, which "
        f"starts no other epoch; set {field}: {labels.MULTIKUEUE_CONTROLLER} again and release the job "
        f"(roadstead jobs release), or delete the {kind}; deploy/hub-cluster/job-guard.yaml keeps the field"
    )
    return Rejected(RejectCode.JOBS_UNPROTECTED, text, field)


def _manager_field(obj: JsonView) -> str:
    of_policy = str(obj.get("apiVersion")).startswith(_OF_RUN_POLICY)
    return "spec.runPolicy.managedBy" if of_policy else "spec.managedBy"


def idle_note(obj: JsonView) -> str:
    """The warning about an object without a queue that the operators here leave alone; "" of others."""
    queued_or_owned = names_queue(obj["metadata"]) or controllers_of(obj["metadata"])
    if queued_or_owned or not is_left_alone(obj) or has_ended(obj.get("status")):
        return ""
    namespace = obj["metadata"].get("namespace") or ""
    return (
        "nothing will run it: managedBy keeps the operators of the hub cluster from it, and it names no "
        f"queue: set label {labels.QUEUE_NAME} to a LocalQueue of namespace {namespace}, or leave managedBy "
        "out"
    )


def has_ended(status: JsonView | None) -> bool:
    """Whether its status says that it has ended."""
    told = status or {}
    conditions = told.get("conditions")
    return any(
        told.get(each.field) in (each.succeeded, each.failed) for each in PHASES.values()
    ) or any(is_true(conditions, each) for each in _ENDS)

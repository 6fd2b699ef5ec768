"""What the scripts of operators are written with: children, conditions, phases. Pure."""

from dataclasses import dataclass
from typing import Any, Final

Object = dict[str, Any]
JOBS: Final = "jobs.batch"
PODS: Final = "pods"
RAY_CLUSTERS: Final = "rayclusters.ray.io"


@dataclass(frozen=True, slots=True)
class OperatorChild:
    """One object that an operator keeps: the resource and its manifest. A lost one is made again."""

    key: str
    manifest: Object


def pod_child(template: Object, name: str, **marks: str) -> OperatorChild:
    """A pod of a template; `marks` are further labels."""
    given = template.get("metadata") or {}
    metadata = {**given, "name": name}
    if marks:
        metadata["labels"] = {**(given.get("labels") or {}), **marks}
    return OperatorChild(
        PODS, {**template, "apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    )


def job_child(spec: Object, name: str, metadata: Object | None = None) -> OperatorChild:
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}
    return OperatorChild(JOBS, {**manifest, "metadata": {**(metadata or {}), "name": name}})


def condition(kind: str, at: str, reason: str = "") -> Object:
    return {"type": kind, "status": "True", "reason": reason or kind, "lastTransitionTime": at}


def has_condition(status: Object, *kinds: str) -> bool:
    return any(
        c["type"] in kinds and c["status"] == "True" for c in status.get("conditions") or ()
    )


def with_condition(status: Object, new: Object) -> Object:
    """A status whose condition of this type holds; it keeps the instant at which it began to."""
    held = list(status.get("conditions") or ())
    if any(c["type"] == new["type"] and c["status"] == new["status"] for c in held):
        return status
    return {**status, "conditions": [*(c for c in held if c["type"] != new["type"]), new]}


def phase_of(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_true_of(job: Object, kind: str) -> bool:
    return has_condition(job.get("status") or {}, kind)


def is_suspended(obj: Object) -> bool:
    """Whether `spec.suspend` is set."""
    return bool(obj["spec"].get("suspend"))

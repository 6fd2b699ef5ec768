"""Pods that are admitted together: many objects, one workload, a pod set for each role. Pure.

The rules are Kueue's: all members name the same queue and the same total; a role is a shape; the group waits
until its pods are there, unless its first pod may speak for all.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared import labels as keys
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.workkinds.plugins.call import NotYet, mapping, mappings
from shared.workkinds.pod_sets import DescribedPods

GROUP: Final = "kueue.x-k8s.io/pod-group-name"
_TOTAL: Final = "kueue.x-k8s.io/pod-group-total-count"
_FAST: Final = "kueue.x-k8s.io/pod-group-fast-admission"
_ROLE: Final = "kueue.x-k8s.io/role-hash"
_FINALIZER: Final = "kueue.x-k8s.io/managed"
_SHAPE: Final = (
    "nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "priorityClassName",
    "topologySpreadConstraints", "overhead", "resourceClaims", "resources",
)  # fmt: skip
_LARGEST: Final = 100_000

Json = Mapping[str, Any]


def group_of(pod: Json) -> str:
    """The name of the group that a pod is in; "" for none."""
    for place in ("labels", "annotations"):
        name = mapping(pod, "metadata", place).get(GROUP)
        if isinstance(name, str) and name:
            return name
    return ""


def describe_group(pods: Sequence[Json]) -> DescribedPods:
    """The pod sets of a group. Raises `Rejected`, and NotYet where pods are missing."""
    total = _agreed_total(pods)
    kept = _kept(pods, total)
    made = DescribedPods()
    if kept and _annotation(kept[0], _FAST) == "true":
        made.add(role_of(kept[0]), total, mapping(kept[0], "spec"))
        return made
    if len(kept) < total:
        raise NotYet(f"{len(kept)} of the group's {total} pods are there")
    roles: dict[str, list[Json]] = {}
    for pod in kept:
        roles.setdefault(role_of(pod), []).append(pod)
    for role, members in roles.items():
        made.add(role, len(members), mapping(members[0], "spec"))
    return made


def role_of(pod: Json) -> str:
    """Eight hexadecimal digits of what scheduling looks at; what the pod says itself, if it does."""
    said = _annotation(pod, _ROLE)
    if said:
        return said
    spec = mapping(pod, "spec")
    shape: dict[str, Any] = {name: spec[name] for name in _SHAPE if spec.get(name)}
    for part in ("initContainers", "containers"):
        shape[part] = [
            {
                "resources": each.get("resources"),
                "ports": each.get("ports"),
                "restartPolicy": each.get("restartPolicy"),
            }
            for each in mappings(spec, part)
        ]
    text = json.dumps(shape, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _agreed_total(pods: Sequence[Json]) -> int:
    totals = {_annotation(pod, _TOTAL) for pod in pods}
    queues = {mapping(pod, "metadata", "labels").get(keys.QUEUE_NAME) for pod in pods}
    if len(totals) > 1 or len(queues) > 1:
        rule = "the pods of a group name one queue and one total, and these name several"
        raise Rejected(RejectCode.INVALID_COMBINATION, rule, f"metadata.annotations[{_TOTAL}]")
    (said,) = totals
    if not said.isdecimal() or len(said) > 6 or not 0 < int(said) <= _LARGEST:
        rule = f"annotation {_TOTAL} says how many pods there are, and must be a whole number"
        raise Rejected(RejectCode.INVALID_ANNOTATION, rule, f"metadata.annotations[{_TOTAL}]")
    return int(said)


def _kept(pods: Sequence[Json], total: int) -> list[Json]:
    """Those that count: no failed and no leaving ones; of too many those held first, then the oldest."""
    alive = [
        pod
        for pod in pods
        if mapping(pod, "status").get("phase") != "Failed"
        and not mapping(pod, "metadata").get("deletionTimestamp")
    ]
    if len(alive) <= total:
        return alive
    chosen = sorted(range(len(alive)), key=lambda index: _rank(alive[index], index))[:total]
    return [alive[index] for index in sorted(chosen)]


def _rank(pod: Json, index: int) -> tuple[bool, bool, str, int]:
    metadata = mapping(pod, "metadata")
    is_held = _FINALIZER in (metadata.get("finalizers") or ())
    gates = mapping(pod, "spec").get("schedulingGates")
    return not is_held, bool(gates), str(metadata.get("creationTimestamp") or "~"), index


def _annotation(pod: Json, name: str) -> str:
    value = mapping(pod, "metadata", "annotations").get(name)
    return value if isinstance(value, str) else ""

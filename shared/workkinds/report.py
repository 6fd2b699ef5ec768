"""The fixed JSON shape of `roadstead simulate podsets`. Pure."""

from collections.abc import Iterable
from typing import Any

from shared import quantity
from shared.resources import PodSet
from shared.workkinds.read_object import ReadObject


def report(read: Iterable[ReadObject]) -> dict[str, Any]:
    """All objects, in order."""
    return {"objects": [_object(each) for each in read]}


def _object(read: ReadObject) -> dict[str, Any]:
    told = {
        "kind": read.kind,
        "namespace": read.namespace,
        "name": read.name,
        "outcome": read.outcome,
        "workloads": read.workloads,
        "podSets": [_pod_set(each) for each in read.pod_sets],
        "priorityClass": read.priority_class or None,
        "priorityClassKind": read.priority_kind or None,
        "suspendPath": read.suspend_path or None,
        "states": list(read.states) or (["unknown"] if read.outcome == "managed" else []),
    }
    if read.reason:
        told["reason"] = read.reason
    if read.child is not None:
        told["child"] = _object(read.child)
    return told


def _pod_set(pod_set: PodSet) -> dict[str, Any]:
    return {
        "name": pod_set.name,
        "count": pod_set.count,
        "minCount": pod_set.min_count,
        "requests": {
            name: quantity.canonical(name, amount)
            for name, amount in sorted(pod_set.requests.items())
        },
    }

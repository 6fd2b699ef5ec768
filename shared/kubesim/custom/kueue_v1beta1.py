"""Kueue's kinds as v1beta1 shows them: the way back from `new_names`.

Where v1beta1 has two ways to say a thing, it is said as `kubectl apply` said it last: kubectl compares
its manifest with that, so that what did not change is no change, and what was taken out goes.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from shared.kubesim.apimachinery.strategies import Object

Spec = dict[str, Any]
FUNGIBILITY: Final = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
CLASS_SOURCES: Final = {
    "kueue.x-k8s.io/workloadpriorityclass": ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}
_V1BETA1: Final = "kueue.x-k8s.io/v1beta1"
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def in_old_names(obj: Object, api_version: str) -> Object:
    """A stored object in the names of `api_version`; other versions than v1beta1 have the stored ones."""
    spec, shown = obj.get("spec"), _SHOWN.get(obj["kind"])
    if api_version != _V1BETA1 or shown is None or not isinstance(spec, dict):
        return obj
    return {**obj, "spec": shown(dict(spec), _applied(obj))}


def _queue(spec: Spec, applied: Spec) -> Spec:
    if "cohortName" not in applied:
        _rename(spec, "cohortName", "cohort")
    rules = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks")
    if "admissionChecks" in applied and rules and all(rule.keys() == {"name"} for rule in rules):
        del spec["admissionChecksStrategy"]
        spec["admissionChecks"] = [rule["name"] for rule in rules]
    fungibility, said = spec.get("flavorFungibility"), applied.get("flavorFungibility")
    if isinstance(fungibility, dict) and isinstance(said, dict):
        spec["flavorFungibility"] = {
            name: said[name] if _same_policy(name, value, said.get(name)) else value
            for name, value in fungibility.items()
        }
    return spec


def _workload(spec: Spec, applied: Spec) -> Spec:
    reference = spec.get("priorityClassRef")
    if isinstance(reference, dict) and "priorityClassRef" not in applied:
        kind = (reference.get("group"), reference.get("kind"))
        source = next((name for name, wanted in CLASS_SOURCES.items() if wanted == kind), None)
        if source is not None and reference.get("name"):
            del spec["priorityClassRef"]
            spec |= {"priorityClassName": reference["name"], "priorityClassSource": source}
    return spec


def _check(spec: Spec, applied: Spec) -> Spec:
    """The delay has no effect and is not kept; who applied one finds it as it was."""
    delay = applied.get("retryDelayMinutes")
    return spec if delay is None else {**spec, "retryDelayMinutes": delay}


def _worker(spec: Spec, applied: Spec) -> Spec:
    source = spec.get("clusterSource")
    if not isinstance(source, dict) or "clusterSource" in applied:
        return spec
    return {**{name: value for name, value in spec.items() if name != "clusterSource"}, **source}


_SHOWN: Final[Mapping[str, Callable[[Spec, Spec], Spec]]] = {
    "ClusterQueue": _queue,
    "Workload": _workload,
    "AdmissionCheck": _check,
    "MultiKueueCluster": _worker,
}


def _rename(spec: Spec, name: str, old_name: str) -> None:
    if name in spec and old_name not in spec:
        spec[old_name] = spec.pop(name)


def _same_policy(name: str, kept: Any, said: Any) -> bool:
    return (kept, said) == ("MayStopSearch", FUNGIBILITY.get(name))


def _applied(obj: Object) -> Spec:
    """The spec that `kubectl apply` wrote last, as its annotation has it; {} if there is none."""
    text = (obj["metadata"].get("annotations") or {}).get(_APPLIED)
    try:
        spec = orjson.loads(text)["spec"] if text else None
    except (ValueError, TypeError, KeyError):
        return {}
    return spec if isinstance(spec, dict) else {}

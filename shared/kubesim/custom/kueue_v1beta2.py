"""Kueue's kinds on a hub cluster are kept in v1beta2's names, whichever version they are written in.

What a conversion webhook would do where there is one: a ClusterQueue's `cohort` becomes `cohortName`, a
Workload's class with its source becomes a reference, and so on; `old_names` is the way back, for who
reads v1beta1. What Kueue's schema defaults of a queue is filled in. Two names that differ in a new
object are left for the hub to refuse.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from shared.kubesim.apimachinery.conversion import Conversion
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.custom.kueue_v1beta1 import CLASS_SOURCES, FUNGIBILITY, in_old_names

Spec = dict[str, Any]
_QUEUES: Final = "clusterqueues.kueue.x-k8s.io"


def in_new_names(key: str, new: Object, old: Object | None) -> Object:
    """An object of resource `key` as it is kept. In an update an old name that was written wins."""
    spec = new.get("spec")
    renamed = _RENAMED.get(key)
    if renamed is None or not isinstance(spec, dict):
        return new
    return {**new, "spec": renamed(dict(spec), (old or {}).get("spec") or {})}


def defaulted(key: str, obj: Object) -> Object:
    """An object of resource `key` with what Kueue's schema fills in."""
    spec = obj.get("spec")
    if key != _QUEUES or not isinstance(spec, dict) or "queueingStrategy" in spec:
        return obj
    return {**obj, "spec": {"queueingStrategy": "BestEffortFIFO", **spec}}


def _queue(found: Spec, kept: Spec) -> Spec:
    _rename(found, "cohort", "cohortName", found.get("cohort"), kept)
    flat = found.get("admissionChecks")
    if isinstance(flat, list):
        rules = {"admissionChecks": [{"name": name} for name in flat]} if flat else None
        _rename(found, "admissionChecks", "admissionChecksStrategy", rules, kept)
        if not flat:
            found.pop("admissionChecks", None)
    fungibility = found.get("flavorFungibility")
    if isinstance(fungibility, dict):
        found["flavorFungibility"] = {
            name: "MayStopSearch" if value == FUNGIBILITY.get(name) else value
            for name, value in fungibility.items()
        }
    return found


def _workload(spec: Spec, kept: Spec) -> Spec:
    """A class without a source is none: the number alone counts."""
    name, source = spec.get("priorityClassName"), spec.get("priorityClassSource")
    group, kind = CLASS_SOURCES.get(str(source), ("", ""))
    reference = {"group": group, "kind": kind, "name": name} if name and group else None
    _rename(spec, "priorityClassName", "priorityClassRef", reference, kept)
    if "priorityClassName" not in spec or reference is None:
        spec.pop("priorityClassName", None)
        spec.pop("priorityClassSource", None)
    return spec


def _check(spec: Spec, kept: Spec) -> Spec:
    """The delay of v1beta1 has no effect any more, and no name."""
    return {name: value for name, value in spec.items() if name != "retryDelayMinutes"}


def _worker(spec: Spec, kept: Spec) -> Spec:
    source = dict(spec.get("clusterSource") or {})
    before = kept.get("clusterSource") or {}
    for name in ("kubeConfig", "clusterProfileRef"):
        written = {**source, **({"old": spec[name]} if spec.get(name) else {})}
        _rename(written, "old", name, written.get("old"), before)
        if "old" not in written:
            spec.pop(name, None)
            source = written
    return {**spec, "clusterSource": source} if source else spec


_RENAMED: Final[Mapping[str, Callable[[Spec, Spec], Spec]]] = {
    _QUEUES: _queue,
    "workloads.kueue.x-k8s.io": _workload,
    "admissionchecks.kueue.x-k8s.io": _check,
    "multikueueclusters.kueue.x-k8s.io": _worker,
}


def _rename(spec: Spec, old_name: str, name: str, value: Any, kept: Spec) -> None:
    """Say `value` under the new name, unless the new name was written too and differs.

    Of two names of which one says what was `kept`, the other is what was changed.
    """
    if value is None:
        return
    if name in spec and spec[name] not in (value, kept.get(name)):
        if value == kept.get(name):
            spec.pop(old_name)
        return
    spec.pop(old_name)
    spec[name] = value


NEW_NAMES: Final = Conversion(frozenset(_RENAMED), in_new_names, in_old_names)

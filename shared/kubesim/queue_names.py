"""ClusterQueues on a hub cluster are kept in v1beta2's names, whichever version they are written in.

What a conversion webhook would do where there is one: `cohort` becomes `cohortName`, a flat list of
`admissionChecks` becomes the strategy, `Borrow` and `Preempt` become `MayStopSearch`; and what Kueue's
schema defaults is filled in. Two names that differ in a new object are left for the hub to refuse.
"""

from typing import Any, Final

from shared.kubesim.strategies import Object

QUEUES: Final = "clusterqueues.kueue.x-k8s.io"
_FUNGIBILITY: Final = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}


def in_new_names(new: Object, old: Object | None) -> Object:
    """A ClusterQueue as it is kept. In an update an old name that was written wins over what was kept."""
    spec = new.get("spec")
    if not isinstance(spec, dict):
        return new
    found = {"queueingStrategy": "BestEffortFIFO", **spec}
    kept = (old or {}).get("spec") or {}
    _rename(found, "cohort", "cohortName", found.get("cohort"), kept)
    flat = found.get("admissionChecks")
    if isinstance(flat, list):
        rules = {"admissionChecks": [{"name": name} for name in flat]} if flat else None
        _rename(found, "admissionChecks", "admissionChecksStrategy", rules, kept)
    fungibility = found.get("flavorFungibility")
    if isinstance(fungibility, dict):
        found["flavorFungibility"] = {
            name: "MayStopSearch" if value == _FUNGIBILITY.get(name) else value
            for name, value in fungibility.items()
        }
    return {**new, "spec": found}


def _rename(
    spec: dict[str, Any], old_name: str, name: str, value: Any, kept: dict[str, Any]
) -> None:
    if value is None:
        if old_name == "admissionChecks":
            spec.pop(old_name, None)
        return
    if name in spec and spec[name] not in (value, kept.get(name)):
        return  # both were written, and differ
    spec.pop(old_name)
    spec[name] = value

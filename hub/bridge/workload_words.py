"""Compares a Workload object with its row: fields to write, and changes by others.

Pure. `spec.active` is taken for a command where the object is of a newer generation than the conditions
that the bridge wrote; a check's state, where it is neither the row's nor what was written last. Anything
else that was changed there is set back.
"""

from collections.abc import Mapping
from typing import Final

from hub.bridge.object_status import differs
from hub.services.kueue_view.conditions import CONDITIONS, active, admitted
from hub.services.kueue_view.workload import JOB_UID, WORKLOAD
from hub.store.records.workloads import Workload
from shared import labels
from shared.documents import Json, JsonView

# Fields of the status that are the hub's: gone from the view, they go from the object.
_OURS: Final = (
    "admission",
    "requeueState",
    "reclaimablePods",
    "admissionChecks",
    "resourceRequests",
    "schedulingStats",
    "nominatedClusterNames",
    "clusterName",
    "accumulatedPastExecutionTimeSeconds",
)
_SPEC: Final = (
    "active",
    "podSets",
    "priority",
    "priorityClassRef",
    "queueName",
    "maximumExecutionTimeSeconds",
)
_ANSWERED: Final = (
    "name",
    "state",
    "message",
    "requeueAfterSeconds",
    "retryCount",
    "podSetUpdates",
)


def job_of(obj: JsonView) -> str:
    """The uid of the Job whose Workload the bridge keeps; "" of any other object.

    The owner reference names the Job. `kubectl delete job --cascade=orphan` removes the reference; the
    managed fields still show that the bridge wrote the label.
    """
    if obj.get("kind") not in (None, WORKLOAD):
        return ""
    metadata = obj["metadata"]
    said = (metadata.get("labels") or {}).get(JOB_UID)
    ours = said and (_is_owned(metadata) or _wrote_label(metadata))
    return str(said) if ours else ""


def is_orphan(obj: JsonView) -> bool:
    """Is it a Workload that the bridge made for a Job, and that this Job does not own any more?"""
    return bool(job_of(obj)) and not _is_owned(obj["metadata"])


def _is_owned(metadata: JsonView) -> bool:
    said = (metadata.get("labels") or {}).get(JOB_UID)
    owners = metadata.get("ownerReferences") or ()
    return any(o.get("kind") == "Job" and o.get("uid") == said for o in owners)


def _wrote_label(metadata: JsonView) -> bool:
    for entry in metadata.get("managedFields") or ():
        if entry.get("manager") == labels.BRIDGE_FIELD_MANAGER and not entry.get("subresource"):
            written = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {}
            if f"f:{JOB_UID}" in written:
                return True
    return False


def spec_patch(wanted: Json, live: Json) -> Json:
    """The fields of the spec that must be written; {} if there are none."""
    spec = live.get("spec") or {}
    return {
        name: wanted["spec"].get(name)
        for name in _SPEC
        if _lacks(wanted["spec"].get(name), spec.get(name))
    }


def status_patch(wanted: Json, live: Json) -> Json:
    """The fields of the status that must be written, null for those that must go; {} for none."""
    present = live.get("status") or {}
    made: Json = {}
    for name, value in wanted["status"].items():
        if name == "conditions":
            theirs = [c for c in present.get(name) or () if c.get("type") not in CONDITIONS]
            value = [*value, *theirs]  # noqa: PLW2901 - the same field, with what others said
        if differs(value, present.get(name)):
            made[name] = value
    made |= {name: None for name in _OURS if name in present and name not in wanted["status"]}
    return made


def observed(live: Json) -> int:
    """The generation that our conditions were written for; 0 if there are none."""
    conditions = (live.get("status") or {}).get("conditions") or ()
    return max((int(c.get("observedGeneration") or 0) for c in conditions), default=0)


def commanded(live: Json, row: Workload) -> bool | None:
    """What somebody has set `spec.active` to against the row; None if nobody has."""
    wish = (live.get("spec") or {}).get("active", True) is not False
    newer = int(live["metadata"].get("generation") or 1) > observed(live) > 0
    return wish if newer and wish != active(row) and not _wrote_active(live["metadata"]) else None


def _wrote_active(metadata: JsonView) -> bool:
    """Was it the bridge that set `spec.active` last, by the managed fields?

    The write of the conditions that follows that of the spec may fail alone: the generation then says
    only that somebody changed the spec.
    """
    for entry in metadata.get("managedFields") or ():
        if entry.get("manager") == labels.BRIDGE_FIELD_MANAGER and not entry.get("subresource"):
            spec = (entry.get("fieldsV1") or {}).get("f:spec") or {}
            if "f:active" in spec:
                return True
    return False


def answered(live: Json, row: Workload, written: Mapping[str, str]) -> list[Json]:
    """States of checks that somebody else set. `written`: those that the bridge wrote last, by check."""
    present = row.checks or {}
    found = []
    for each in (live.get("status") or {}).get("admissionChecks") or ():
        name, state = each.get("name"), each.get("state")
        ours = present.get(name)
        if ours is None or state in (ours.get("state"), written.get(name)):
            continue
        if name not in written and str(each.get("lastTransitionTime") or "") < str(ours.get("at")):
            continue  # written before this process's life, and overtaken
        found.append({field: each[field] for field in _ANSWERED if each.get(field)})
    return found


def reported(live: Json, row: Workload) -> Json | None:
    """What the executor of a bare Workload has written there and the row does not say; None: nothing."""
    if row.finished_at is not None or not admitted(row):
        return None
    told = {c.get("type"): c for c in (live.get("status") or {}).get("conditions") or ()}
    found = []
    if told.get("Finished", {}).get("status") == "True":
        found.append(told["Finished"])
    ready = told.get("PodsReady", {}).get("status")
    stands = row.pods_ready_at is not None and row.pods_lost_at is None
    if ready in ("True", "False") and (ready == "True") != stands:
        found.append(told["PodsReady"])
    return {"conditions": found} if found else None


def _lacks(wanted: object, live: object) -> bool:
    if wanted is None or wanted is True:
        return (wanted is None and live is not None) or (wanted is True and live is False)
    return differs(wanted, live)

"""A workload as Kueue's API shows it: kind Workload, v1beta2, for Jobs and bare Workloads alike. Pure.

Every unit of admission has such a view; none of it is stored. REST serves it, and the bridge keeps it
as an object on the hub cluster, so that `kubectl get workloads` reads as people know it.
"""

import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hub.domain.instants import stamp
from hub.domain.workloads.states import TERMINAL
from hub.services.kueue_view.conditions import active, admitted, conditions, reserves
from hub.store.records.workloads import Workload
from shared import quantity
from shared.conditions import rfc3339
from shared.documents import Json, JsonView
from shared.kinds.kueue_v1beta2 import GROUP, VERSION

WORKLOAD: Final = "Workload"
JOB_UID: Final = "kueue.x-k8s.io/job-uid"
_HASH: Final = 5
_LONGEST: Final = 252 - _HASH  # of a name before its hash: Kueue's
_NOMINATED: Final = 20
_TERMINAL: Final = frozenset(str(s) for s in TERMINAL)


def workload_name(row: Workload) -> str:
    """The name of a row's Workload: a bare one's own; of a Job Kueue's name for it.

    Kueue: `job-<name>-<5 hexadecimal digits>` of the SHA-1 over kind, group, name and uid of the owner
    (jobframework/workload_names.go).
    """
    if row.kind == WORKLOAD:
        return str(row.name)
    identity = "\n".join((row.kind, _group_of(row), row.name, row.uid))
    digest = hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()[:_HASH]
    return f"{row.kind.lower()}-{row.name}"[:_LONGEST] + f"-{digest}"


def workload_object(
    row: Workload,
    pod_sets: Sequence[JsonView] | None,
    manifest: JsonView | None = None,
    *,
    now: dt.datetime,
    generation: int | None = None,
) -> Json:
    """The Workload of one row of `workloads`.

    `pod_sets`: its shape as table `shapes` has it; `manifest`: the Job or Workload as its user sent
    it, for the pod templates (without it they are empty); `generation` goes into the conditions.
    """
    status = workload_status(row, pod_sets, now=now, generation=generation)
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": WORKLOAD,
        "metadata": _metadata(row),
        "spec": _spec(row, pod_sets or (), manifest or {}),
        "status": status,
    }


def workload_status(
    row: Workload,
    pod_sets: Sequence[JsonView] | None,
    *,
    now: dt.datetime,
    generation: int | None = None,
) -> Json:
    """`status` alone."""
    said = conditions(row, now)
    if generation is not None:
        said = [each | {"observedGeneration": generation} for each in said]
    status: Json = {"conditions": said}
    if reserves(row):
        status["admission"] = _admission(row, pod_sets or ())
    elif row.state not in _TERMINAL:
        status["resourceRequests"] = [
            {"name": each["name"], "resources": _texts(_times(each["requests"], each["count"]))}
            for each in pod_sets or ()
        ]
    if row.requeues or row.requeue_at:
        status["requeueState"] = {"count": row.requeues or 0} | (
            {"requeueAt": rfc3339(row.requeue_at)} if row.requeue_at else {}
        )
    if row.checks:
        status["admissionChecks"] = check_states(row)
    if row.evictions:
        status["schedulingStats"] = {"evictions": _evictions(row.evictions)}
    if row.ran_s:
        status["accumulatedPastExecutionTimeSeconds"] = row.ran_s
    status |= _clusters(row)
    if told := _given_back(row):
        status["reclaimablePods"] = told
    return status


def check_states(row: Workload) -> list[Json]:
    """`status.admissionChecks` of a row."""
    found = []
    for name, check in sorted((row.checks or {}).items()):
        state: Json = {
            "name": name,
            "state": check.get("state") or "Pending",
            "message": check.get("message") or "",
            "lastTransitionTime": _whole(check.get("at")) or rfc3339(row.queued_at),
        }
        for field in ("requeueAfterSeconds", "retryCount", "podSetUpdates"):
            if check.get(field):
                state[field] = check[field]
        found.append(state)
    return found


def _metadata(row: Workload) -> Json:
    metadata: Json = {
        "name": workload_name(row),
        "namespace": row.namespace,
        "creationTimestamp": stamp(row.created_at.replace(microsecond=0)),
    }
    if row.kind == WORKLOAD:
        own = {"labels": row.labels, "annotations": row.annotations}
        return metadata | {"uid": row.uid} | {name: each for name, each in own.items() if each}
    return metadata | {"labels": {JOB_UID: row.uid}, "ownerReferences": [owner_of(row)]}


def owner_of(row: Workload) -> Json:
    """The reference to the Job whose Workload it is."""
    group = _group_of(row)
    return {
        "apiVersion": f"{group}/v1" if row.kind == WORKLOAD else row.api_version,
        "kind": row.kind,
        "name": row.name,
        "uid": row.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _spec(row: Workload, pod_sets: Iterable[JsonView], manifest: JsonView) -> Json:
    spec: Json = {
        "active": active(row),
        "podSets": [_pod_set(each, manifest) for each in pod_sets],
        "priority": row.priority,
    }
    if row.queue:
        spec["queueName"] = row.queue
    if row.priority_class:
        spec["priorityClassRef"] = {
            "group": GROUP,
            "kind": "WorkloadPriorityClass",
            "name": row.priority_class,
        }
    if row.max_runtime_s:
        spec["maximumExecutionTimeSeconds"] = row.max_runtime_s
    return spec


def _pod_set(pod_set: JsonView, manifest: JsonView) -> Json:
    made: Json = {
        "name": pod_set["name"],
        "count": pod_set["count"],
        "template": _template(pod_set["name"], manifest),
    }
    return made | ({"minCount": pod_set["minCount"]} if pod_set.get("minCount") else {})


def _template(name: str, manifest: JsonView) -> Any:
    """The pod template of a Job, or of one pod set of a Workload; as it was sent."""
    spec = manifest.get("spec") or {}
    if "podSets" in spec:
        named = {each.get("name", "main"): each.get("template") for each in spec["podSets"]}
        return named.get(name) or {}
    return spec.get("template") or {}


def _admission(row: Workload, pod_sets: Iterable[JsonView]) -> Json:
    """The charge, per pod set: flavors, amounts of all its pods, count."""
    asked = {each["name"]: each["count"] for each in pod_sets}
    return {
        "clusterQueue": row.cluster_queue,
        "podSetAssignments": [
            {
                "name": each["name"],
                "flavors": each.get("flavors") or {},
                "resourceUsage": _texts(each.get("whole") or each.get("usage") or {}),
                "count": each.get("count", asked.get(each["name"], 1)),
            }
            for each in (row.admission or {}).get("podSets") or ()
        ],
    }


def _clusters(row: Workload) -> Json:
    """The cluster of its admission, or the candidates before."""
    if admitted(row):
        return {"clusterName": row.cluster} if row.cluster else {}
    if row.state in _TERMINAL:
        return {}
    nominated = [(row.nomination or {}).get("cluster"), row.cluster]
    named = list(dict.fromkeys(each for each in nominated if each))
    return {"nominatedClusterNames": named[:_NOMINATED]} if named else {}


def _given_back(row: Workload) -> list[Json]:
    """Pods that are not needed any more: their quota is free."""
    pod_sets = (row.admission or {}).get("podSets") or ()
    return [{"name": p["name"], "count": p["reclaimed"]} for p in pod_sets if p.get("reclaimed")]


def _evictions(counted: Mapping[str, int]) -> list[Json]:
    """`schedulingStats.evictions`; keys are `reason` or `reason/cause`."""
    found = []
    for key, count in sorted(counted.items()):
        reason, _, cause = key.partition("/")
        found.append({"reason": reason, "underlyingCause": cause, "count": count})
    return found


def _times(requests: Mapping[str, int], count: int) -> dict[str, int]:
    return {name: quantity.clamp(amount * count) for name, amount in requests.items()}


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: quantity.canonical(name, amount) for name, amount in sorted(amounts.items())}


def _group_of(row: Workload) -> str:
    return GROUP if row.kind == WORKLOAD else row.api_version.rpartition("/")[0]


def _whole(at: str | None) -> str | None:
    """A time as Kubernetes writes it."""
    return rfc3339(dt.datetime.fromisoformat(at)) if at else None

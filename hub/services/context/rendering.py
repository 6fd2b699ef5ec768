"""Renders rows for users and scripts: plain JSON, one function per noun. Pure."""

import datetime as dt
from collections import Counter

from hub.domain.access import UNKNOWN
from hub.domain.instants import stamp
from hub.store.records.history import StoredEvent
from hub.store.records.lists import JobOnPage, ListedJob
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import BareProgress, Workload, WorkloadProgress
from shared import quantity
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE


def job(row: Workload | ListedJob, pod_sets: object = None) -> Json:
    """A job as lists show it: the fields that scripts rely on. `pod_sets`: as `shapes` keeps them."""
    return {
        "uid": row.uid,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "queue": row.queue,
        "owner": row.owner or UNKNOWN,
        "state": row.state,
        "reason": row.reason,
        "cluster": row.cluster,
        "epoch": row.epoch,
        "createdAt": stamp(row.created_at),
        "startedAt": stamp(began_at(row)),
        "finishedAt": stamp(ended_at(row)),
        "requests": None if pod_sets is None else requests_of(pod_sets),
    }


def requests_of(pod_sets: object) -> dict[str, str]:
    """The total requests of its pods, as canonical texts; {} if unreadable."""
    total: Counter[str] = Counter()
    try:
        for pod_set in pod_sets or ():  # type: ignore[attr-defined]  # what was stored
            for resource, amount in pod_set["requests"].items():
                total[resource] += int(amount) * int(pod_set["count"])
    except (TypeError, KeyError, ValueError, AttributeError):
        return {}
    return {
        name: quantity.canonical(name, amount) for name, amount in sorted(total.items()) if amount
    }


def began_at(row: Workload | ListedJob | JobOnPage) -> dt.datetime | None:
    """When its present epoch began to run: by its member, else when the hub heard of it.

    Not before it was submitted: a member's clock may be wrong by years.
    """
    return row.started_at and max(row.ran_from or row.started_at, row.created_at)


def ended_at(row: Workload | ListedJob | JobOnPage) -> dt.datetime | None:
    """When it ended: by its member, else when the hub heard of it; not before it was submitted."""
    return row.finished_at and max(row.ran_until or row.finished_at, row.created_at)


def state(row: Workload | WorkloadProgress | BareProgress) -> Json:
    """The state of a workload for executors and watchers."""
    return {
        "uid": row.uid,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "queue": row.queue,
        "clusterQueue": row.cluster_queue,
        "state": row.state,
        "reason": row.reason,
        "cluster": row.cluster,
        "epoch": row.epoch,
    }


def whole_job(row: Workload, manifest: object, pod_sets: object) -> Json:
    """Everything about one job."""
    return {
        **job(row, pod_sets or ()),
        "message": row.message,
        "origin": row.origin,
        "generation": row.generation,
        "clusterQueue": row.cluster_queue,
        "priority": row.priority,
        "priorityClass": row.priority_class,
        "placement": row.placement,
        "counts": {
            "active": row.active,
            "ready": row.ready,
            "succeeded": row.succeeded,
            "failed": row.failed,
        },
        "parallelism": row.parallelism,
        "completions": row.completions,
        "podSets": pod_sets,
        "admission": row.admission,
        "decision": row.scores,
        "labels": row.labels,
        "annotations": row.annotations,
        "withdrawTo": row.withdraw_to,
        "queuedAt": stamp(row.queued_at),
        "requeueAt": stamp(row.requeue_at),
        "requeues": row.requeues,
        "evicted": row.evicted,
        "evictions": row.evictions or {},
        "maxRuntimeSeconds": row.max_runtime_s,
        "ranSeconds": row.ran_s,
        "placedAt": stamp(row.placed_at),
        "appliedAt": stamp(row.applied_at),
        "podsReadyAt": stamp(row.pods_ready_at),
        "deletedAt": stamp(row.deleted_at),
        "manifest": manifest,
    }


def event(told: StoredEvent) -> Json:
    """One event."""
    return {
        "id": told.id,
        "at": stamp(told.at),
        "uid": told.uid,
        "kind": told.kind,
        "namespace": told.namespace,
        "name": told.name,
        "type": told.type,
        "reason": told.reason,
        "message": told.message,
        "cluster": told.cluster,
        "epoch": told.epoch,
        "cause": told.cause,
        "subject": told.subject,
        "memberAt": stamp(told.member_at),
    }


def whole_object(row: StoredObject) -> Json:
    """An object as Kubernetes would show it: its manifest with what the hub knows in metadata."""
    manifest = dict(row.manifest)
    metadata = {
        **manifest.get("metadata", {}),
        "uid": row.uid,
        "generation": row.generation,
        "creationTimestamp": stamp(row.created_at),
    }
    if (row.api_group, row.kind) != (KUEUE, "Workload"):
        metadata["resourceVersion"] = resource_version(row)
        metadata.pop("ownerReferences", None)  # of the hub cluster, and refused on the way back in
    if row.deleted_at is not None:
        metadata["deletionTimestamp"] = stamp(row.deleted_at)
    manifest["metadata"] = metadata
    if row.api_version == f"{KUEUE}/v1beta1" and "spec" in manifest and row.spec is not None:
        manifest |= {"apiVersion": f"{KUEUE}/v1beta2", "spec": row.spec}  # as it is read here
    if row.status is not None:
        manifest["status"] = row.status
    return {**manifest, "origin": row.origin}


def resource_version(row: StoredObject) -> str:
    """The id of an object's declaration: another declaration has another id."""
    return row.hash[:16]


def refusal(error: Rejected) -> Json:
    """The reason why one entry of several was refused."""
    return {
        "code": error.code,
        "detail": error.detail,
        "errors": [
            {"field": each.field, "code": each.code, "message": each.message}
            for each in error.errors
        ],
    }

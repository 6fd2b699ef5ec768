"""Queues and Workloads as Kueue shows them, and what executors of bare Workloads follow and say."""

from collections.abc import Mapping
from typing import Any

from roadstead.calls.bodies import body_of
from roadstead.models.hub import WorkloadState
from roadstead.models.jobs import WholeJob
from roadstead.models.objects import KubernetesObject
from roadstead.models.queues import ClusterQueue, LocalQueue, PendingWorkload
from roadstead.paths import pair, part, text, workload_path
from roadstead.steps import EventStream, Flow, Request, Steps, items, items_of, one, pages


def queues() -> Steps[list[ClusterQueue]]:
    """Every ClusterQueue with quota, usage and its LocalQueues."""
    return items(Request("GET", "/v1/queues"), ClusterQueue)


def queue(name: str) -> Steps[ClusterQueue]:
    """One ClusterQueue."""
    return one(Request("GET", f"/v1/queues/{part(name)}"), ClusterQueue)


def local_queue(name: str) -> Steps[LocalQueue]:
    """One LocalQueue by `namespace/name`."""
    namespace, short = pair(name, "LocalQueue", "NAMESPACE/NAME")
    return one(Request("GET", f"/v1/queues/{part(namespace)}/{part(short)}"), LocalQueue)


def stop_queue(name: str, *, drain: bool = False) -> Steps[ClusterQueue | LocalQueue]:
    """Admit nothing more in a ClusterQueue, or LocalQueue as `namespace/name`; `drain` evicts the rest."""
    body = body_of({"drain": drain})
    return (yield from _switch(name, "stop", body))


def resume_queue(name: str) -> Steps[ClusterQueue | LocalQueue]:
    """Admit again what waits in a ClusterQueue, or in a LocalQueue as `namespace/name`."""
    return (yield from _switch(name, "resume", None))


def _switch(name: str, verb: str, body: bytes | None) -> Steps[ClusterQueue | LocalQueue]:
    if "/" in text(name):
        namespace, short = pair(name, "LocalQueue", "NAMESPACE/NAME")
        path = f"/v1/queues/{part(namespace)}/{part(short)}/{verb}"
        return (yield from one(Request("POST", path, body=body, repeatable=True), LocalQueue))
    path = f"/v1/queues/{part(name)}/{verb}"
    return (yield from one(Request("POST", path, body=body, repeatable=True), ClusterQueue))


def pending(name: str, *, offset: int = 0, limit: int = 1000) -> Steps[list[PendingWorkload]]:
    """Who waits in a ClusterQueue, or in a LocalQueue as `namespace/name`, in order.

    Items as Kueue's visibility API has them, with positions from 0.
    """
    namespace, slash, short = text(name).rpartition("/")
    line = f"clusterqueues/{part(name)}"
    if slash:
        line = f"namespaces/{part(namespace)}/localqueues/{part(short)}"
    path = f"/apis/visibility.kueue.x-k8s.io/v1beta2/{line}/pendingworkloads"
    return items(Request("GET", path, {"offset": offset, "limit": limit}), PendingWorkload)


def workloads(
    *,
    namespace: str | None = None,
    queue: str | None = None,
    cluster_queue: str | None = None,
    state: str | None = None,
    condition: str | None = None,
    limit: int | None = None,
) -> Flow[KubernetesObject]:
    """Workloads that match, as Kueue shows them, newest first; `condition` is a type, or type=status."""
    filters = {
        "namespace": namespace,
        "queue": queue,
        "clusterQueue": cluster_queue,
        "state": state,
        "condition": condition,
    }
    return pages("/v1/workloads", filters, KubernetesObject, limit)


def workload(name: str) -> Steps[KubernetesObject]:
    """One Workload by `namespace/name`."""
    return one(Request("GET", workload_path(name)), KubernetesObject)


def delete_workload(name: str) -> Steps[WholeJob]:
    """Delete a bare Workload by `namespace/name`; its quota and its name are free at once."""
    return one(Request("DELETE", workload_path(name)), WholeJob)


def watch_workloads(
    revision: int | None = None,
    *,
    namespace: str | None = None,
    queue: str | None = None,
    kind: str | None = None,
    state: str | None = None,
) -> EventStream[WorkloadState]:
    """How workloads stand, each as it changes, from `revision` on: for executors of bare ones.

    Each filter is one value or several with commas.
    """
    query = {
        "revision": revision,
        "namespace": namespace,
        "queue": queue,
        "kind": kind,
        "state": state,
    }
    return EventStream(
        "/v1/workloads:watch", query, lambda told: map(WorkloadState.of, items_of(told))
    )


def report_workload(
    name: str, status: Mapping[str, Any], *, epoch: int | None = None
) -> Steps[WorkloadState]:
    """Say how far a bare Workload (`namespace/name`) is: conditions, reclaimablePods …

    With `epoch` what is said of a run that was taken back meanwhile raises Rejected.
    """
    path = f"{workload_path(name)}/status"
    ask = Request("PATCH", path, {"epoch": epoch}, body_of({"status": status}))
    return one(ask, WorkloadState)

"""Queues and Workloads as Kueue shows them; calls for executors of bare Workloads."""

from collections.abc import Mapping
from typing import Any, Final

from roadstead.calls.bodies import body_of
from roadstead.models.hub import WorkloadState
from roadstead.models.jobs import WholeJob
from roadstead.models.objects import KubernetesObject
from roadstead.models.queues import ClusterQueue, LocalQueue, PendingWorkload, QueuePreview
from roadstead.paths import pair, part, text, workload_path
from roadstead.steps import EventStream, Flow, Request, Steps, items, items_of, one, pages

_LOOK: Final = {"dryRun": "true"}  # in the query: an earlier hub refuses it there


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
    """Stop a ClusterQueue, or LocalQueue as `namespace/name`; `drain` also evicts admitted workloads."""
    body = body_of({"drain": drain})
    return (yield from _switch(name, "stop", body))


def resume_queue(name: str) -> Steps[ClusterQueue | LocalQueue]:
    """Resume a ClusterQueue, or a LocalQueue as `namespace/name`."""
    return (yield from _switch(name, "resume", None))


def cron_jobs(*, namespace: str = "") -> Flow[KubernetesObject]:
    """Every CronJob whose schedule the hub keeps and whose Jobs you may see, of one namespace or of all."""
    return pages("/v1/cronjobs", {"namespace": namespace}, KubernetesObject)


def suspend_cron_job(name: str) -> Steps[KubernetesObject]:
    """Suspend a CronJob by `namespace/name`: no further run starts. Raises NotFound, Rejected."""
    return _set_cron_job(name, "suspend")


def resume_cron_job(name: str) -> Steps[KubernetesObject]:
    """Resume a CronJob by `namespace/name`; its newest missed run may start. Raises NotFound, Rejected."""
    return _set_cron_job(name, "resume")


def _set_cron_job(name: str, verb: str) -> Steps[KubernetesObject]:
    namespace, short = pair(name, "CronJob", "NAMESPACE/NAME")
    return one(
        Request("POST", f"/v1/cronjobs/{part(namespace)}/{part(short)}/{verb}"), KubernetesObject
    )


def preview_stop(name: str, *, drain: bool = False) -> Steps[QueuePreview]:
    """Preview `stop_queue`; raises Rejected if it would be rejected."""
    return one(
        Request("POST", _place(name, "stop"), _LOOK, body=body_of({"drain": drain})), QueuePreview
    )


def preview_resume(name: str) -> Steps[QueuePreview]:
    """Preview `resume_queue`; raises Rejected if it would be rejected."""
    return one(Request("POST", _place(name, "resume"), _LOOK), QueuePreview)


def _place(name: str, verb: str) -> str:
    if "/" not in text(name):
        return f"/v1/queues/{part(name)}/{verb}"
    namespace, short = pair(name, "LocalQueue", "NAMESPACE/NAME")
    return f"/v1/queues/{part(namespace)}/{part(short)}/{verb}"


def _switch(name: str, verb: str, body: bytes | None) -> Steps[ClusterQueue | LocalQueue]:
    request = Request("POST", _place(name, verb), body=body, repeatable=True)
    if "/" in text(name):
        return (yield from one(request, LocalQueue))
    return (yield from one(request, ClusterQueue))


def pending(name: str, *, offset: int = 0, limit: int = 1000) -> Steps[list[PendingWorkload]]:
    """Waiting workloads of a ClusterQueue, or of a LocalQueue as `namespace/name`, in order.

    Items as in Kueue's visibility API, with positions from 0.
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
    """Matching workloads, as Kueue shows them, newest first; `condition` is a type, or type=status."""
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
    """Delete a bare Workload by `namespace/name`; frees its quota and its name at once."""
    return one(Request("DELETE", workload_path(name)), WholeJob)


def watch_workloads(
    revision: int | None = None,
    *,
    namespace: str | None = None,
    queue: str | None = None,
    kind: str | None = None,
    state: str | None = None,
) -> EventStream[WorkloadState]:
    """Follow the states of workloads, from `revision` on: for executors of bare Workloads.

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
    """Report the status of a bare Workload (`namespace/name`): conditions, reclaimablePods …

    With `epoch` a report on a run that was withdrawn meanwhile raises Rejected.
    """
    path = f"{workload_path(name)}/status"
    ask = Request("PATCH", path, {"epoch": epoch}, body_of({"status": status}))
    return one(ask, WorkloadState)

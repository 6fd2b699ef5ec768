"""The columns of a pod. Its status column is the most telling of several facts, as in kubectl."""

import datetime as dt
from typing import Any

from shared.kubesim.apimachinery.columns import AGE, NAME, Column, Object, since

_NONE = "<none>"


def pod_columns() -> tuple[Column, ...]:
    return (
        NAME,
        Column("Ready", _ready),
        Column("Status", pod_status),
        Column("Restarts", _restarts),
        AGE,
        Column("IP", lambda pod, now: pod.get("status", {}).get("podIP") or _NONE, priority=1),
        Column("Node", lambda pod, now: pod.get("spec", {}).get("nodeName") or _NONE, priority=1),
        Column(
            "Nominated Node",
            lambda pod, now: pod.get("status", {}).get("nominatedNodeName") or _NONE,
            priority=1,
        ),
        Column("Readiness Gates", lambda pod, now: _NONE, priority=1),
    )


def _containers(pod: Object, kind: str = "containerStatuses") -> list[dict[str, Any]]:
    return pod.get("status", {}).get(kind) or []


def _ready(pod: Object, now: dt.datetime) -> str:
    ready = sum(
        1
        for status in _containers(pod)
        if status.get("ready") and "running" in (status.get("state") or {})
    )
    return f"{ready}/{len(pod.get('spec', {}).get('containers') or ())}"


def _restarts(pod: Object, now: dt.datetime) -> str:
    count = sum(status.get("restartCount", 0) for status in _containers(pod))
    ended = [
        status["lastState"]["terminated"].get("finishedAt")
        for status in _containers(pod)
        if "terminated" in (status.get("lastState") or {})
    ]
    latest = max((stamp for stamp in ended if stamp), default="")
    return f"{count} ({since(latest, now)} ago)" if count and latest else str(count)


def pod_status(pod: Object, now: dt.datetime) -> str:
    """The word in the STATUS column."""
    status = pod.get("status", {})
    text = str(status.get("reason") or status.get("phase") or "Unknown")
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            text = "SchedulingGated"
    text = _init_status(pod) or _container_status(pod, text)
    if "deletionTimestamp" in pod["metadata"] and status.get("phase") not in (
        "Succeeded",
        "Failed",
    ):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return text


def _init_status(pod: Object) -> str:
    statuses = _containers(pod, "initContainerStatuses")
    for index, status in enumerate(statuses):
        state = status.get("state") or {}
        ended = state.get("terminated")
        if ended and ended.get("exitCode") == 0:
            continue
        if status.get("started") and "running" in state:
            continue
        if ended:
            return "Init:" + (ended.get("reason") or f"ExitCode:{ended.get('exitCode')}")
        waiting = (state.get("waiting") or {}).get("reason")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{index}/{len(statuses)}"
    return ""


def _container_status(pod: Object, text: str) -> str:
    running = False
    for status in reversed(_containers(pod)):
        state = status.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            text = waiting["reason"]
        elif ended:
            text = ended.get("reason") or f"ExitCode:{ended.get('exitCode')}"
        elif status.get("ready") and "running" in state:
            running = True
    return "Running" if text == "Completed" and running else text

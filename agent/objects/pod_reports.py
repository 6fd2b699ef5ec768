"""Reports of a job's pods: containers, exit codes, reasons why they do not run. Pure."""

from collections.abc import Iterable
from typing import Any, Final

from agent.objects.facts import number
from shared import labels
from shared.wire.streams_v1 import (
    MOST_CONTAINERS,
    MOST_PODS,
    ContainerTold,
    EventTold,
    PodTold,
)

Object = dict[str, Any]
MOST_TEXT: Final = 1024
WITHHELD: Final = "withheld: this member has logs off"
# Events whose message quotes the output of a program in the pod: a probe's or a hook's.
_QUOTING: Final = frozenset(
    {"FailedPostStartHook", "FailedPreStopHook", "ProbeError", "ProbeWarning", "Unhealthy"}
)
# Where what a pod's containers are is told: init containers first, as they run.
PARTS: Final = (
    ("initContainers", "initContainerStatuses", True),
    ("containers", "containerStatuses", False),
)


def told(pods: Iterable[Object], *, logs: bool) -> tuple[list[PodTold], int]:
    """Pods, oldest first, and how many are left out: those that ended well go first, then the oldest.

    `logs`: the member gives logs. Without it the report leaves out text that a container wrote.
    """
    found = sorted(pods, key=_order)
    over = len(found) - MOST_PODS
    if over > 0:
        well = [pod for pod in found if _phase(pod) == "Succeeded"]
        gone = {id(pod) for pod in [*well, *found][:over]} if len(well) >= over else set()
        found = [pod for pod in found if id(pod) not in gone][-MOST_PODS:]
    return [pod_told(pod, logs=logs) for pod in found], max(0, over)


def pod_told(pod: Object, *, logs: bool) -> PodTold:
    """Report one pod; its containers' termination messages, which they write themselves, only with `logs`."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    containers = [
        _container(each, _status_of(status, statuses, each), init=init, logs=logs)
        for part, statuses, init in PARTS
        for each in spec.get(part) or ()
    ][:MOST_CONTAINERS]
    reason, message = _why(status, containers)
    marks = metadata.get("labels") or {}
    ends = [each.finished_at for each in containers if each.finished_at]
    starts = [each.started_at for each in containers if each.started_at]
    over = _phase(pod) in {"Succeeded", "Failed"}
    return PodTold(
        name=_short(metadata.get("name"), 253),
        uid=_short(metadata.get("uid"), 128),
        epoch=number(marks.get(labels.EPOCH) or "") or 0,
        node=_short(spec.get("nodeName"), 253),
        phase=_short(_phase(pod), 32),
        reason=_short(reason),
        message=_short(message),
        created_at=_short(metadata.get("creationTimestamp"), 40),
        started_at=min(starts, default=_short(status.get("startTime"), 40)),
        finished_at=max(ends, default="") if over else "",
        containers=containers,
    )


def event_told(event: Object, *, logs: bool) -> EventTold:
    """One event of the member, in either of the two APIs' words; output of programs only with `logs`."""
    message = event.get("message") or event.get("note")
    if message and not logs and event.get("reason") in _QUOTING:
        message = WITHHELD
    about = event.get("involvedObject") or event.get("regarding") or {}
    series = event.get("series") or {}
    at = (
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or (event.get("metadata") or {}).get("creationTimestamp")
    )
    count = event.get("count") or series.get("count") or 1
    return EventTold(
        at=_short(at, 40),
        type=_short(event.get("type"), 32),
        reason=_short(event.get("reason")),
        message=_short(message),
        about=_short(f"{about.get('kind')}/{about.get('name')}"),
        count=count if isinstance(count, int) and 0 <= count < 2**31 else 1,
    )


def container_names(pod: Object) -> list[str]:
    """All containers of a pod, in the order in which they run."""
    spec = pod.get("spec") or {}
    return [str(each.get("name")) for part, _, _ in PARTS for each in spec.get(part) or ()]


def runs(pod: Object, container: str) -> tuple[bool, bool, int, str]:
    """Of one container: has it begun, has it an earlier run, its restarts, and why it waits."""
    status = pod.get("status") or {}
    for _, statuses, _ in PARTS:
        for each in status.get(statuses) or ():
            if each.get("name") == container:
                state, last = each.get("state") or {}, each.get("lastState") or {}
                begun = bool(state.get("running") or state.get("terminated"))
                waiting = state.get("waiting") or {}
                words = [waiting.get("reason"), waiting.get("message")]
                why = ": ".join(str(word) for word in words if word)
                restarts = each.get("restartCount") or 0
                return begun, bool(last.get("terminated")), restarts, _short(why)
    return False, False, 0, _short(": ".join(word for word in _why(status, []) if word))


def running_containers(pod: Object) -> list[tuple[str, int]]:
    """Containers that run now, each with its restarts."""
    status = pod.get("status") or {}
    return [
        (str(each.get("name")), each.get("restartCount") or 0)
        for _, statuses, _ in PARTS
        for each in status.get(statuses) or ()
        if (each.get("state") or {}).get("running")
    ]


def failed_container(pod: PodTold) -> str:
    """The container by which a pod that is over failed; "" where it did not, or by none of them."""
    if pod.phase != "Failed":
        return ""
    failed = (
        each.name for each in pod.containers if each.state == "terminated" and each.exit_code
    )
    return next(failed, "")


def is_over(pod: Object) -> bool:
    """Whether nothing of a pod will run any more."""
    return _phase(pod) in {"Succeeded", "Failed"}


def _container(spec: Object, status: Object, *, init: bool, logs: bool) -> ContainerTold:
    state = status.get("state") or {}
    name = next(iter(state), "")
    found = state.get(name) or {}
    last = (status.get("lastState") or {}).get("terminated") or {}
    message = found.get("message")
    if message and name == "terminated" and not logs:
        message = WITHHELD
    return ContainerTold(
        name=_short(spec.get("name"), 253),
        init=init,
        state=_short(name, 32),
        reason=_short(found.get("reason")),
        message=_short(message),
        exit_code=_whole(found.get("exitCode")),
        restarts=_whole(status.get("restartCount")) or 0,
        ready=bool(status.get("ready")),
        started_at=_short(found.get("startedAt"), 40),
        finished_at=_short(found.get("finishedAt"), 40),
        last_reason=_short(last.get("reason")),
        last_exit_code=_whole(last.get("exitCode")),
    )


def _why(status: Object, containers: list[ContainerTold]) -> tuple[str, str]:
    """Why a pod does not run, or how it failed: its own word, its scheduler's, or a container's."""
    if status.get("reason"):  # evicted, or its node is gone
        return str(status["reason"]), str(status.get("message") or "")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("reason") or ""), str(condition.get("message") or "")
    for each in containers:
        if each.state == "terminated" and each.exit_code:
            return each.reason, each.message
    for each in containers:
        if each.state == "waiting" and each.reason:
            return each.reason, each.message
    return "", ""


def _status_of(status: Object, statuses: str, container: Object) -> Object:
    for each in status.get(statuses) or ():
        if each.get("name") == container.get("name"):
            found: Object = each
            return found
    return {}


def _order(pod: Object) -> tuple[str, str]:
    metadata = pod["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata.get("name") or "")


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and -(2**31) <= value < 2**31 else None


def _short(value: Any, most: int = MOST_TEXT) -> str:
    return str(value or "")[:most]

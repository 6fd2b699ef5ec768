"""The status that a node writes for a pod, stage by stage: accepted, running, waiting, ended. Pure.

Each function takes a pod and returns a new one. Conditions, reasons and messages are the kubelet's
(pkg/kubelet/status/generate.go, kubelet_pods.go).
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from shared.kubesim.apimachinery.strategies import Object

Status = dict[str, Any]
Row = tuple[str, str, str, str]  # a condition's type, status, reason and message

_UNSTARTED: Row = ("PodReadyToStartContainers", "False", "", "")
_INITIALIZED: Row = ("Initialized", "True", "", "")
_SCHEDULED: Row = ("PodScheduled", "True", "", "")
_RUNNING: tuple[Row, ...] = (
    ("PodReadyToStartContainers", "True", "", ""),
    _INITIALIZED,
    ("Ready", "True", "", ""),
    ("ContainersReady", "True", "", ""),
)
_SUCCEEDED: tuple[Row, ...] = (
    _UNSTARTED,
    ("Initialized", "True", "PodCompleted", ""),
    ("Ready", "False", "PodCompleted", ""),
    ("ContainersReady", "False", "PodCompleted", ""),
)
_FAILED: tuple[Row, ...] = (
    _UNSTARTED,
    _INITIALIZED,
    ("Ready", "False", "PodFailed", ""),
    ("ContainersReady", "False", "PodFailed", ""),
)


def accepted(pod: Object, host_ip: str, stamp: str) -> Object:
    """The pod as its node has just taken it over: its containers are being created."""
    spec = pod["spec"]
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    status: Status = {
        **(pod.get("status") or {}),
        "phase": "Pending",
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": stamp,
        "containerStatuses": [_container(c, waiting) for c in spec["containers"]],
    }
    begun = not spec.get("initContainers")
    if not begun:
        waiting = {"waiting": {"reason": "PodInitializing"}}
        status["initContainerStatuses"] = [_container(c, waiting) for c in spec["initContainers"]]
    rows = (_UNSTARTED, _INITIALIZED, *_not_ready(spec), _SCHEDULED)
    _set(status, rows, stamp)
    return {**pod, "status": status}


def scheduled(pod: Object, node: str, host_ip: str, stamp: str) -> Object:
    """The pod bound to a node that has accepted it at once."""
    return accepted({**pod, "spec": {**pod["spec"], "nodeName": node}}, host_ip, stamp)


def unschedulable(pod: Object, reason: str, message: str, stamp: str) -> Object | None:
    """The pod with PodScheduled=False; None if it says so already."""
    status: Status = dict(pod.get("status") or {})
    present = _condition(status, "PodScheduled")
    if present and present.get("reason") == reason and present.get("message") == message:
        return None
    status.setdefault("phase", "Pending")
    _set(status, [("PodScheduled", "False", reason, message)], stamp)
    generation = pod["metadata"].get("generation", 1)
    status["conditions"] = [
        {**each, "observedGeneration": generation} if each["type"] == "PodScheduled" else each
        for each in status["conditions"]
    ]
    return {**pod, "status": status}


def running(pod: Object, stamp: str) -> Object:
    """The pod with all its containers started (init containers have come and gone)."""
    status: Status = dict(pod["status"])
    status["phase"] = "Running"
    status["podIP"] = pod_ip(pod)
    status["podIPs"] = [{"ip": status["podIP"]}]
    before = _by_name(status.get("containerStatuses"))
    state = {"running": {"startedAt": stamp}}
    status["containerStatuses"] = [
        _container(c, state, before.get(c["name"]), ready=True, uid=pod["metadata"]["uid"])
        for c in pod["spec"]["containers"]
    ]
    if pod["spec"].get("initContainers"):
        status["initContainerStatuses"] = [
            _initialised(c, stamp, pod["metadata"]["uid"]) for c in pod["spec"]["initContainers"]
        ]
    _set(status, _RUNNING, stamp)
    return {**pod, "status": status}


def waiting(pod: Object, reason: str, message: str) -> Object | None:
    """The pod whose containers cannot start, and why; None if it says so already."""
    status: Status = dict(pod["status"])
    state = {"waiting": {"reason": reason, "message": message}}
    before = _by_name(status.get("containerStatuses"))
    status["containerStatuses"] = [
        _container(c, state, before.get(c["name"])) for c in pod["spec"]["containers"]
    ]
    if status["containerStatuses"] == (pod["status"].get("containerStatuses") or []):
        return None
    return {**pod, "status": status}


def crashed(pod: Object, code: int, wait_s: float, stamp: str) -> Object:
    """The pod whose containers ended and will be started again after `wait_s`."""
    status: Status = dict(pod["status"])
    name = pod["metadata"]["name"]
    statuses = []
    for container in status.get("containerStatuses") or ():
        reason, message = (
            "CrashLoopBackOff",
            (
                f"back-off {_duration(wait_s)} restarting failed container={container['name']}"
                f" pod={name}_{pod['metadata']['namespace']}({pod['metadata']['uid']})"
            ),
        )
        statuses.append(
            {
                **container,
                "ready": False,
                "started": False,
                "restartCount": container.get("restartCount", 0),
                "lastState": {"terminated": _terminated(container, code, stamp)},
                "state": {"waiting": {"reason": reason, "message": message}},
            }
        )
    status["containerStatuses"] = statuses
    _set(status, _not_ready(pod["spec"]), stamp)
    return {**pod, "status": status}


def restarted(pod: Object, stamp: str) -> Object:
    """The pod whose containers were started once more."""
    status: Status = dict(pod["status"])
    status["containerStatuses"] = [
        {**container, "restartCount": container.get("restartCount", 0) + 1}
        for container in status.get("containerStatuses") or ()
    ]
    return running({**pod, "status": status}, stamp)


def ended(pod: Object, code: int, stamp: str, *, reason: str = "", message: str = "") -> Object:
    """The pod in its final phase: Succeeded for `code` 0, else Failed, with why if given."""
    status: Status = dict(pod.get("status") or {})
    status["phase"] = "Succeeded" if code == 0 else "Failed"
    if reason:
        status["reason"], status["message"] = reason, message
    if status.get("containerStatuses"):
        status["containerStatuses"] = [
            {
                **container,
                "ready": False,
                "started": False,
                "state": {"terminated": _terminated(container, code, stamp)},
            }
            for container in status["containerStatuses"]
        ]
    _set(status, _SUCCEEDED if code == 0 else _FAILED, stamp)
    return {**pod, "status": status}


def disrupted(pod: Object, reason: str, message: str, stamp: str) -> Object:
    """The pod with the condition DisruptionTarget."""
    status: Status = dict(pod.get("status") or {})
    _set(status, [("DisruptionTarget", "True", reason, message)], stamp)
    return {**pod, "status": status}


def started_at(pod: Object) -> str | None:
    """When the containers that run now were started; None when none runs."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        running_state = (container.get("state") or {}).get("running")
        if running_state:
            found: str = running_state["startedAt"]
            return found
    return None


def restart_count(pod: Object) -> int:
    """How often the pod's containers were started again."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((container.get("restartCount", 0) for container in statuses), default=0)


def pod_ip(pod: Object) -> str:
    """An address in 10.0.0.0/8 that stays the same for the pod's life."""
    digest = hashlib.blake2s(pod["metadata"]["uid"].encode(), digest_size=3).digest()
    return f"10.{64 + digest[0] % 64}.{digest[1]}.{1 + digest[2] % 254}"


def _container(
    container: Mapping[str, Any],
    state: dict[str, Any],
    before: Mapping[str, Any] | None = None,
    *,
    ready: bool = False,
    uid: str = "",
) -> dict[str, Any]:
    before = before or {}
    restarts = before.get("restartCount", 0)
    made: dict[str, Any] = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": f"{container.get('image', '')}@sha256:{_hex(str(container.get('image')))}"
        if ready
        else "",
        "lastState": before.get("lastState") or {},
        "ready": ready,
        "restartCount": restarts,
        "started": ready,
        "state": state,
    }
    if ready:
        made["containerID"] = "containerd://" + _hex(f"{uid}/{container['name']}/{restarts}")
    return made


def _initialised(container: Mapping[str, Any], stamp: str, uid: str) -> dict[str, Any]:
    if container.get("restartPolicy") == "Always":
        return _container(container, {"running": {"startedAt": stamp}}, ready=True, uid=uid)
    ran = _container(container, {"running": {"startedAt": stamp}}, ready=True, uid=uid)
    return {**ran, "started": False, "state": {"terminated": _terminated(ran, 0, stamp)}}


def _terminated(container: Mapping[str, Any], code: int, stamp: str) -> dict[str, Any]:
    started = ((container.get("state") or {}).get("running") or {}).get("startedAt", stamp)
    made = {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": started,
        "finishedAt": stamp,
    }
    if container.get("containerID"):
        made["containerID"] = container["containerID"]
    return made


def _set(status: Status, rows: Sequence[Row], stamp: str) -> None:
    """Set conditions in a status that this module owns: those there keep their place and since when."""
    found = {condition["type"]: condition for condition in status.get("conditions") or ()}
    for kind, value, reason, message in rows:
        present = found.get(kind)
        kept = present is not None and present.get("status") == value
        condition: dict[str, Any] = {
            "type": kind,
            "status": value,
            "lastProbeTime": None,
            "lastTransitionTime": present["lastTransitionTime"] if present and kept else stamp,
        }
        if reason:
            condition["reason"] = reason
        if message:
            condition["message"] = message
        found[kind] = condition
    status["conditions"] = list(found.values())


def _not_ready(spec: Mapping[str, Any]) -> tuple[Row, Row]:
    names = " ".join(container["name"] for container in spec["containers"])
    why = ("False", "ContainersNotReady", f"containers with unready status: [{names}]")
    return ("Ready", *why), ("ContainersReady", *why)


def _condition(status: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    return next((c for c in status.get("conditions") or () if c["type"] == kind), None)


def _by_name(statuses: Sequence[Mapping[str, Any]] | None) -> dict[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in statuses or ()}


def _hex(seed: str) -> str:
    return hashlib.blake2s(seed.encode()).hexdigest()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60}m{whole % 60}s" if whole >= 60 else f"{seconds:g}s"

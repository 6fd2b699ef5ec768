"""What the agent remembers of a pod, and the pods of one Job taken together. Pure.

Every pod of the cluster passes here several times in its life, so a view keeps only what capacity
and reasons need, and amounts are read once for each size that a pod has.
"""

import sys
from dataclasses import dataclass, field
from typing import Any

import orjson

from agent.objects.facts import number
from agent.objects.failures import Failures, failures_of
from shared import labels, quantity, resources
from shared.errors import Rejected

Object = dict[str, Any]

# Waiting reasons that say why a bound pod does not run, as the kubelet writes them.
STUCK_REASONS = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
        "CrashLoopBackOff",
    }
)


_ENDED = frozenset({"Succeeded", "Failed"})
_CONTAINERS = ("initContainers", "containers")
_STATUSES = ("initContainerStatuses", "containerStatuses")


@dataclass(slots=True)
class PodView:
    """One pod. `requests` counts the pod itself as 1 of `pods`."""

    uid: str
    node: str
    phase: str
    requests: dict[str, int]
    size: int  # of what the requests were read from: another number, and they are read again
    job_uid: str  # label roadstead.dev/job-uid, "" for pods of others
    epoch: int
    owner: str  # uid of the owning Job, "" for none
    owner_name: str = ""
    namespace: str = ""
    made: bool = False  # the agent made the owner for this job: the agent reports of no other
    started: str = ""  # when its first container started, as the kubelet wrote it
    reason: str = ""
    message: str = ""
    failure: str = ""  # which container failed, how, and where its log is
    failed_at: str = ""
    failures: tuple[str, ...] = ()  # exit codes and reasons

    @property
    def counts(self) -> bool:
        """Whether its job is not over yet for it: it may run, or its controller has to count its end."""
        return bool(self.owner) or self.phase not in _ENDED

    @property
    def holds_node(self) -> bool:
        """Whether it takes room on a node: bound and not ended, terminating ones included."""
        return bool(self.node) and self.phase not in _ENDED


def view(pod: Object, previous: PodView | None) -> PodView:
    """Slim a pod. The previous view of the same pod saves reading the amounts again."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    uid = metadata.get("uid") or ""
    marks = metadata.get("labels") or {}
    size = _size(spec, status)
    if previous is not None and previous.uid == uid and previous.size == size:
        requests = previous.requests
    else:
        requests = _requests(_granted(spec, status))
    reason, message = _why_not_running(status)
    failed_at, failure = _why_failed(metadata, status)
    return PodView(
        uid=uid,
        node=spec.get("nodeName") or "",
        phase=status.get("phase") or "Pending",
        requests=requests,
        size=size,
        job_uid=marks.get(labels.JOB_UID) or "",
        epoch=number(marks.get(labels.EPOCH) or "") or 0,
        owner=job_owner(metadata),
        owner_name=owner_name(metadata),
        namespace=sys.intern(metadata.get("namespace") or ""),
        started=_started(status) or (previous.started if previous is not None else ""),
        reason=reason,
        message=message,
        failure=failure,
        failed_at=failed_at,
        failures=failures_of(pod),
    )


def _size(spec: Object, status: Object) -> int:
    """A number that changes with anything that a pod's requests are read from, at a fraction of the cost."""
    asked = [c.get("resources") for name in _CONTAINERS for c in spec.get(name) or ()]
    given = [
        (c.get("name"), c.get("resources"), c.get("allocatedResources"))
        for name in _STATUSES
        for c in status.get(name) or ()
    ]
    return hash(orjson.dumps([asked, given, spec.get("resources"), _is_infeasible(status)]))


def _granted(spec: Object, status: Object) -> Object:
    """The spec with the requests that the scheduler counts of a pod that is resized in place.

    The largest of what is asked for, what the kubelet has allocated and what the container runs with; a
    resize that no room can ever be found for counts for nothing (KEP-1287; kube-scheduler's
    `PodRequests`).
    """
    told = {
        c.get("name"): ((c.get("resources") or {}).get("requests"), c.get("allocatedResources"))
        for name in _STATUSES
        for c in status.get(name) or ()
    }
    known = {name: [one for one in both if one] for name, both in told.items() if any(both)}
    if not known:
        return spec
    infeasible = _is_infeasible(status)
    resized = dict(spec)
    for part in _CONTAINERS:
        if spec.get(part):
            resized[part] = [
                _with_largest(c, known.get(c.get("name"), []), infeasible) for c in spec[part]
            ]
    return resized


def _with_largest(container: Object, told: list[Object], infeasible: bool) -> Object:
    asked = container.get("resources") or {}
    listed = told if told and infeasible else [asked.get("requests") or {}, *told]
    largest: dict[str, tuple[int, Any]] = {}
    for amounts in listed:
        for name, text in amounts.items():
            try:
                found = quantity.parse(name, text), text
            except Rejected:
                return container  # as it is asked for: what that comes to is said where it is read
            largest[name] = max(largest.get(name, found), found, key=lambda one: one[0])
    requests = {name: text for name, (_, text) in largest.items()}
    return {**container, "resources": {**asked, "requests": requests}}


def _is_infeasible(status: Object) -> bool:
    """Whether the node will never have room for the size that is asked for.

    Since Kubernetes 1.33 a condition says so, before that `status.resize`.
    """
    return status.get("resize") == "Infeasible" or any(
        c.get("type") == "PodResizePending"
        and c.get("status") == "True"
        and c.get("reason") == "Infeasible"
        for c in status.get("conditions") or ()
    )


def _requests(spec: Object) -> dict[str, int]:
    try:
        amounts = resources.pod_requests(spec)
    except Rejected:
        amounts = {}  # the API server took it all the same; it holds a place, no countable amount
    amounts["pods"] = 1
    return amounts


def is_over(pod: Object) -> bool:
    """Whether a pod has ended and nobody owns it, so that nobody has to count its end."""
    ended = (pod.get("status") or {}).get("phase") in _ENDED
    return ended and not job_owner(pod["metadata"])


def is_of_copy(owner: str, job: str) -> bool:
    """Whether a pod whose Job has the name `owner` is of a copy that people made of `job`.

    Pods without a Job ("") may be those of one that is gone. Without a `job` all are.
    """
    return bool(owner and job) and owner != job


def job_owner(metadata: Object, field: str = "uid") -> str:
    """The uid of the Job that controls a pod, or another field of that reference; "" for none."""
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("kind") == "Job" and owner.get("controller"):
            return str(owner.get(field) or "")
    return ""


def owner_name(metadata: Object) -> str:
    """The name of the Job that a pod belongs to, "" for none."""
    return job_owner(metadata, "name")


def _started(status: Object) -> str:
    starts = []
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        at = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        if at:
            starts.append(at)
    if starts:
        return str(min(starts))
    return str(status.get("startTime") or "") if status.get("phase") == "Running" else ""


def _why_not_running(status: Object) -> tuple[str, str]:
    if status.get("phase") in {"Succeeded", "Failed"}:
        return "", ""
    for name in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(name) or ():
            waiting = (container.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in STUCK_REASONS:
                return waiting["reason"], waiting.get("message") or ""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return "FailedScheduling", condition.get("message") or ""
    return "", ""


def _why_failed(metadata: Object, status: Object) -> tuple[str, str]:
    """When a container of the pod last failed, and how: the newest end with an exit code that is not 0."""
    pod = metadata.get("name") or ""
    found = [
        (str(ended.get("finishedAt") or ""), _exit(metadata, container, ended))
        for name in ("initContainerStatuses", "containerStatuses")
        for container in status.get(name) or ()
        for when in ("state", "lastState")
        if (ended := (container.get(when) or {}).get("terminated")) and ended.get("exitCode")
    ]
    if found:
        return max(found)
    if status.get("phase") == "Failed" and status.get("reason"):  # evicted, or its node is gone
        words = f"pod {pod}: {status['reason']}: {status.get('message') or ''}"
        return "", words.rstrip(": ")
    return "", ""


def _exit(metadata: Object, container: Object, ended: Object) -> str:
    """How a container ended, and what people type who have no credential of this cluster."""
    pod, name = metadata.get("name") or "", container.get("name")
    job = f"{metadata.get('namespace') or ''}/{owner_name(metadata)}"
    said = ended.get("reason") or ""
    why = f" ({said})" if said not in {"", "Error"} else ""
    return (
        f"pod {pod}: container {name} exited with code {ended['exitCode']}{why}; "
        f"its log, while the pod is kept: roadstead logs {job} --pod {pod}"
    )


@dataclass(slots=True)
class JobPods:
    """The pods of one job, kept up to date pod by pod. `running_since`: its first container's start.

    All pods with the job's labels count as present; only those of Jobs that the agent made say anything else.
    `failed`: epoch, instant and words of the last failure, which outlasts its pod.
    """

    views: dict[str, PodView] = field(default_factory=dict)  # by pod uid
    running_since: str = ""
    failed: tuple[int, str, str] = (0, "", "")
    failures: Failures = field(default_factory=Failures)

    def put(self, pod: PodView) -> bool:
        """Take in a new or changed pod; True if what is reported of the job changed."""
        old = self.views.get(pod.uid)
        self.views[pod.uid] = pod
        changed = old is None or old.counts is not pod.counts
        if not pod.made:
            return changed
        changed = changed or old is None or (old.reason, old.message) != (pod.reason, pod.message)
        if pod.started and (not self.running_since or pod.started < self.running_since):
            self.running_since = pod.started
            changed = True
        if pod.failures and (old is None or old.failures != pod.failures):
            self.failures.note(pod.epoch, pod.uid, pod.failures)
            changed = True
        failed = (pod.epoch, pod.failed_at, pod.failure)
        if pod.failure and failed > self.failed:
            self.failed = failed
            changed = True
        return changed

    def owned_by(self, job: str) -> list[PodView]:
        """The pods of one Job, by its uid in the member."""
        return [pod for pod in self.views.values() if pod.owner == job]

    def found_made(self, pod: PodView, epoch: int) -> None:
        """The agent made the pod's Job, which came into view after the pod."""
        pod.made, pod.epoch = True, epoch
        self.remove(pod)  # as if it came now
        self.put(pod)

    def remove(self, pod: PodView) -> None:
        self.views.pop(pod.uid, None)

    @property
    def has_made(self) -> bool:
        """Tell if any pod is of a Job that the agent made."""
        return any(pod.made for pod in self.views.values())

    def stuck(self) -> tuple[str, str]:
        """Reason and message of a pod that can not run, those of bound pods first."""
        held = [pod for pod in self.views.values() if pod.reason and pod.made]
        if not held:
            return "", ""
        worst = min(held, key=lambda pod: (pod.reason == "FailedScheduling", pod.uid))
        return worst.reason, worst.message

    def left(self, of: str = "", namespace: str = "") -> int:
        """How many its job, of the name `of`, has to wait for before it is over.

        A Job has its pods in its own namespace ("": not known); one elsewhere with its labels is another
        tenant's.
        """
        mine = (
            pod
            for pod in self.views.values()
            if not is_of_copy(pod.owner_name, of) and namespace in {"", pod.namespace}
        )
        return sum(pod.counts for pod in mine)

    def __len__(self) -> int:
        return len(self.views)

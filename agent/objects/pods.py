"""The agent's record of a pod, and a summary of the pods of one Job. Pure.

Every pod of the cluster passes here several times in its life, so a view keeps only what capacity
and reasons need, and amounts are read once for each size that a pod has.
"""

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson

from agent.objects.facts import number
from agent.objects.failures import Failures, failures_of
from agent.objects.makers import NOBODY, Maker, maker_of
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
    by_operator: bool = False  # made for an object that is no Job: its pods are counted one by one
    maker: Maker = NOBODY  # its controller; of pods of others it is left out
    ready: bool = False
    terminating: bool = False
    started: str = ""  # when its first container started, as the kubelet wrote it
    reason: str = ""
    message: str = ""
    failure: str = ""  # which container failed, and how
    failed_name: str = ""  # the pod's name, if that container has a log
    failed_at: str = ""
    failures: tuple[str, ...] = ()  # exit codes and reasons

    @property
    def counts(self) -> bool:
        """Whether its job is not over yet for it: it may run, or its controller has to count its end."""
        return bool(self.owner) or self.phase not in _ENDED

    @property
    def is_final(self) -> bool:
        """Tell if it has ended, and stays so."""
        return self.phase in _ENDED

    @property
    def stand(self) -> str:
        """What it is counted as among the pods of an object that is no Job."""
        if self.is_final:
            return "succeeded" if self.phase == "Succeeded" else "failed"
        if self.terminating:
            return "terminating"
        return "ready" if self.ready else "active"

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
    failed_at, failure, failed_name = _why_failed(metadata, status)
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
        maker=maker_of(metadata) if labels.JOB_UID in marks else NOBODY,
        ready=_is_ready(status),
        terminating=bool(metadata.get("deletionTimestamp")),
        namespace=sys.intern(metadata.get("namespace") or ""),
        started=_started(status) or (previous.started if previous is not None else ""),
        reason=reason,
        message=message,
        failure=failure,
        failed_at=failed_at,
        failed_name=failed_name,
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


def is_over(pod: Object, *, of_parent: bool = False) -> bool:
    """Tell if a pod has ended and no Job owns it, so that nobody has to count its end.

    `of_parent`: it is of a job whose object is no Job. That tells its end itself.
    """
    ended = (pod.get("status") or {}).get("phase") in _ENDED
    return ended and (of_parent or not job_owner(pod["metadata"]))


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


def _is_ready(status: Object) -> bool:
    return any(
        each.get("type") == "Ready" and each.get("status") == "True"
        for each in status.get("conditions") or ()
    )


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


def _why_failed(metadata: Object, status: Object) -> tuple[str, str, str]:
    """When a container of the pod last failed, and how: the newest end with an exit code that is not 0.

    Third, the name of the pod if that container has a log.
    """
    pod = metadata.get("name") or ""
    found = [
        (str(ended.get("finishedAt") or ""), _exit(pod, container, ended), pod)
        for name in ("initContainerStatuses", "containerStatuses")
        for container in status.get(name) or ()
        for when in ("state", "lastState")
        if (ended := (container.get(when) or {}).get("terminated")) and ended.get("exitCode")
    ]
    if found:
        return max(found)
    if status.get("phase") == "Failed" and status.get("reason"):  # evicted, or its node is gone
        words = f"pod {pod}: {status['reason']}: {status.get('message') or ''}"
        return "", words.rstrip(": "), ""
    return "", "", ""


def _exit(pod: str, container: Object, ended: Object) -> str:
    """Say how a container ended."""
    said = ended.get("reason") or ""
    why = f" ({said})" if said not in {"", "Error"} else ""
    return (
        f"pod {pod}: container {container.get('name')} exited with code {ended['exitCode']}{why}"
    )


@dataclass(slots=True)
class JobPods:
    """The pods of one job, kept up to date pod by pod. `running_since`: its first container's start.

    All pods with the job's labels count as present; only those of Jobs that the agent made say anything else.
    `failed`: epoch, instant and words of the last failure, which outlasts its pod; the pod that has its log.
    """

    views: dict[str, PodView] = field(default_factory=dict)  # by pod uid
    running_since: str = ""
    failed: tuple[int, str, str, str] = (0, "", "", "")
    failures: Failures = field(default_factory=Failures)

    def put(self, pod: PodView) -> bool:
        """Take in a new or changed pod; True if what is reported of the job changed."""
        old = self.views.get(pod.uid)
        self.views[pod.uid] = pod
        changed = old is None or old.counts is not pod.counts
        if not pod.made:
            return changed or (old is not None and old.is_final is not pod.is_final)
        changed = changed or old is None or (old.reason, old.message) != (pod.reason, pod.message)
        changed = changed or (pod.by_operator and old is not None and old.stand != pod.stand)
        if pod.started and (not self.running_since or pod.started < self.running_since):
            self.running_since = pod.started
            changed = True
        if pod.failures and (old is None or old.failures != pod.failures):
            self.failures.note(pod.epoch, pod.uid, pod.failures)
            changed = True
        failed = (pod.epoch, pod.failed_at, pod.failure, pod.failed_name)
        if pod.failure and failed > self.failed:
            self.failed = failed
            changed = True
        return changed

    def owned_by(self, job: str) -> list[PodView]:
        """The pods of one Job, by its uid in the member."""
        return [pod for pod in self.views.values() if pod.owner == job]

    def stands(self, epoch: int) -> Counter[str]:
        """How many pods of an epoch's object, which is no Job, are ready, active, …: see `PodView.stand`."""
        mine = (pod for pod in self.views.values() if pod.by_operator and pod.epoch == epoch)
        return Counter(pod.stand for pod in mine)

    def found_made(self, pod: PodView, epoch: int, *, by_operator: bool = False) -> None:
        """The agent made the pod's Job or parent, which came into view after the pod."""
        pod.made, pod.epoch, pod.by_operator = True, epoch, by_operator
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

    def left(self, of: str = "", namespace: str = "", *, of_parent: bool = False) -> int:
        """How many its job, of the name `of`, has to wait for before it is over.

        A Job has its pods in its own namespace ("": not known); one elsewhere with its labels is another
        tenant's. `of_parent`: the job's object is no Job. Nobody has to count the ends of its pods.
        """
        mine = (
            pod
            for pod in self.views.values()
            if not is_of_copy(pod.owner_name, of) and namespace in {"", pod.namespace}
        )
        return sum(not pod.is_final if of_parent else pod.counts for pod in mine)

    def __len__(self) -> int:
        return len(self.views)

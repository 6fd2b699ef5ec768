"""What the agent remembers of a pod, and the pods of one Job taken together. Pure.

Every pod of the cluster passes here several times in its life, so a view keeps only what capacity
and reasons need, and amounts are read from the spec once.
"""

from dataclasses import dataclass, field
from typing import Any

from agent.objects.facts import number
from shared import labels, resources
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


@dataclass(slots=True)
class PodView:
    """One pod. `requests` counts the pod itself as 1 of `pods`."""

    uid: str
    node: str
    phase: str
    requests: dict[str, int]
    job_uid: str  # label roadstead.dev/job-uid, "" for pods of others
    epoch: int
    owner: str  # uid of the owning Job, "" for none
    owner_name: str = ""
    started: str = ""  # when its first container started, as the kubelet wrote it
    reason: str = ""
    message: str = ""
    failure: str = ""  # which container failed, how, and where its log is
    failed_at: str = ""

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
    if previous is not None and previous.uid == uid and "resize" not in status:
        requests = previous.requests
    else:
        requests = _requests(spec)
    reason, message = _why_not_running(status)
    failed_at, failure = _why_failed(metadata, status)
    return PodView(
        uid=uid,
        node=spec.get("nodeName") or "",
        phase=status.get("phase") or "Pending",
        requests=requests,
        job_uid=marks.get(labels.JOB_UID) or "",
        epoch=number(marks.get(labels.EPOCH) or "") or 0,
        owner=_job_owner(metadata),
        owner_name=owner_name(metadata),
        started=_started(status) or (previous.started if previous is not None else ""),
        reason=reason,
        message=message,
        failure=failure,
        failed_at=failed_at,
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
    return ended and not _job_owner(pod["metadata"])


def is_of_copy(owner: str, job: str) -> bool:
    """Whether a pod whose Job has the name `owner` is of a copy that people made of `job`.

    Pods without a Job ("") may be those of one that is gone. Without a `job` all are.
    """
    return bool(owner and job) and owner != job


def _job_owner(metadata: Object, field: str = "uid") -> str:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("kind") == "Job" and owner.get("controller"):
            return str(owner.get(field) or "")
    return ""


def owner_name(metadata: Object) -> str:
    """The name of the Job that a pod belongs to, "" for none."""
    return _job_owner(metadata, "name")


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
    where = metadata.get("namespace") or "", metadata.get("name") or ""
    found = [
        (str(ended.get("finishedAt") or ""), _exit(where, container, ended))
        for name in ("initContainerStatuses", "containerStatuses")
        for container in status.get(name) or ()
        for when in ("state", "lastState")
        if (ended := (container.get(when) or {}).get("terminated")) and ended.get("exitCode")
    ]
    if found:
        return max(found)
    if status.get("phase") == "Failed" and status.get("reason"):  # evicted, or its node is gone
        words = f"pod {where[1]}: {status['reason']}: {status.get('message') or ''}"
        return "", words.rstrip(": ")
    return "", ""


def _exit(where: tuple[str, str], container: Object, ended: Object) -> str:
    namespace, pod = where
    name = container.get("name")
    said = ended.get("reason") or ""
    why = f" ({said})" if said not in {"", "Error"} else ""
    return (
        f"pod {pod}: container {name} exited with code {ended['exitCode']}{why}; "
        "its log, while the pod is kept, with the kubeconfig of that cluster: "
        f"kubectl logs -n {namespace} {pod} -c {name}"
    )


@dataclass(slots=True)
class JobPods:
    """The pods of one job, kept up to date pod by pod. `running_since`: its first container's start.

    `failed`: epoch, instant and words of the last failure, which outlasts its pod.
    """

    views: dict[str, PodView] = field(default_factory=dict)  # by pod uid
    running_since: str = ""
    failed: tuple[int, str, str] = (0, "", "")

    def put(self, pod: PodView) -> bool:
        """Take in a new or changed pod; True if what is reported of the job changed."""
        old = self.views.get(pod.uid)
        self.views[pod.uid] = pod
        changed = old is None or (old.reason, old.message) != (pod.reason, pod.message)
        changed = changed or old is None or old.counts is not pod.counts
        if pod.started and (not self.running_since or pod.started < self.running_since):
            self.running_since = pod.started
            changed = True
        failed = (pod.epoch, pod.failed_at, pod.failure)
        if pod.failure and failed > self.failed:
            self.failed = failed
            changed = True
        return changed

    def remove(self, pod: PodView) -> None:
        self.views.pop(pod.uid, None)

    def stuck(self) -> tuple[str, str]:
        """Reason and message of a pod that can not run, those of bound pods first."""
        held = [pod for pod in self.views.values() if pod.reason]
        if not held:
            return "", ""
        worst = min(held, key=lambda pod: (pod.reason == "FailedScheduling", pod.uid))
        return worst.reason, worst.message

    def left(self, of: str = "") -> int:
        """How many its job, of the name `of`, has to wait for before it is over."""
        mine = (pod for pod in self.views.values() if not is_of_copy(pod.owner_name, of))
        return sum(pod.counts for pod in mine)

    def __len__(self) -> int:
        return len(self.views)

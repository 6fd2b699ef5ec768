"""Pods of a job as its member reports them, and the records of a log stream."""

from hub.api.models.base import Model


class JobContainer(Model):
    """One container of a pod. Instants as the kubelet wrote them, empty if there are none yet."""

    name: str
    init: bool
    state: str
    """`waiting`, `running`, `terminated`, or empty if unknown."""
    reason: str
    """Why, as one word: `OOMKilled`, `ImagePullBackOff`, `Completed`."""
    message: str
    exit_code: int | None
    ready: bool
    restarts: int
    started_at: str
    finished_at: str
    last_reason: str
    """How its run before ended."""
    last_exit_code: int | None


class JobPod(Model):
    """One pod of a job."""

    name: str
    uid: str
    epoch: int
    """The placement of the job that it belongs to."""
    node: str
    phase: str
    reason: str
    """Why it does not run, or how it failed: `Unschedulable`, `OOMKilled`, `Evicted`."""
    message: str
    restarts: int
    created_at: str
    started_at: str
    finished_at: str
    containers: list[JobContainer]


class MemberEvent(Model):
    """An event of the member's, of the Job there or of one of its pods."""

    at: str
    type: str
    reason: str
    message: str
    object: str
    """`Job/NAME` or `Pod/NAME`."""
    count: int


class JobPods(Model):
    """Pods of a job as its member has them now, oldest first, and the member's events."""

    cluster: str
    items: list[JobPod]
    left_out: int
    """Pods beyond the limit, not listed."""
    events: list[MemberEvent]
    """Oldest first."""
    events_unread: str
    """Why events can not be read; empty where they are."""


class LogEnd(Model):
    """The reason for the end of a stream; `Ended` if the log is complete."""

    code: str
    message: str


class LogRecord(Model):
    """One record of a stream: a line, a note on missing lines, or the end, which comes last."""

    pod: str = ""
    container: str = ""
    time: str = ""
    line: str = ""
    cut: bool = False
    """The line is longer."""
    note: str = ""
    end: LogEnd | None = None

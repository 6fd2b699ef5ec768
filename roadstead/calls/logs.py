"""Logs and pods of a job, read live from its member."""

from collections.abc import Mapping

from roadstead.calls.jobs import by_uid
from roadstead.models.jobs import Job
from roadstead.models.pods import JobPods, LogRecord
from roadstead.paths import job_path, text
from roadstead.steps import EventStream, Request, Steps, one


def logs(
    job: Job | str,
    *,
    follow: bool = False,
    pod: str | None = None,
    container: str | None = None,
    previous: bool = False,
    since_s: int | None = None,
    tail: int | None = None,
    timestamps: bool = False,
    after: Mapping[str, str] | None = None,
) -> EventStream[LogRecord]:
    """Lines of all pods of a job, in order for each container; the last record has the reason of the end.

    `job`: a job from the hub, or a uid. `since_s`: only the last seconds, `tail`: the last lines of each
    container. `after`: resume an interrupted log, by POD/CONTAINER with the instant of its last line; that
    line's whole second is repeated. Raises ValueError for a name, which may belong to another job by then.
    """
    uid = job.uid if isinstance(job, Job) else text(job)
    if "/" in uid:
        raise ValueError(f"{uid!r} is not a uid: pass a result of Client.job")
    flags = {"follow": follow, "previous": previous, "timestamps": timestamps}
    query: dict[str, str | int | None] = {
        **{name: "true" if given else None for name, given in flags.items()},
        "pod": pod,
        "container": container,
        "since": since_s,
        "tail": tail,
        "after": ",".join(f"{log}={at}" for log, at in (after or {}).items()),
    }
    return EventStream(f"{job_path(uid)}/logs", query, lambda told: (LogRecord.of(told),))


def job_pods(name: str) -> Steps[JobPods]:
    """Pods of a job as its member has them now, with the member's events about them."""
    path = yield from by_uid(name)
    return (yield from one(Request("GET", f"{path}/pods"), JobPods))

"""Logs and pods of a job, read from its member while one waits."""

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
    """Lines of all pods of a job, in order for each container; the last record says why it ends.

    `job`: one that the hub answered, or a uid. `since_s`: of the last so many seconds, `tail`: the last so
    many lines of each container. `after`: where a log that broke off goes on, by POD/CONTAINER the instant of
    its last line, which is told again with all of its second. Raises ValueError for a name, which may be
    another job's by then.
    """
    uid = job.uid if isinstance(job, Job) else text(job)
    if "/" in uid:
        raise ValueError(f"{uid!r} is no uid: give what Client.job answers")
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

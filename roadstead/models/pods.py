"""Pods of a job as its member has them, and their logs."""

import datetime as dt

from roadstead.models.record import Record


class LogEnd(Record):
    """The reason for the end of a log stream: `code` is `Ended` if the log is complete."""

    code: str
    message: str = ""


class LogRecord(Record):
    """One line of a container; or a note on why there are none; or the end, which comes last.

    `cut`: the line was longer and has been cut.
    """

    pod: str = ""
    container: str = ""
    time: dt.datetime | None = None
    line: str = ""
    cut: bool = False
    note: str = ""
    end: LogEnd | None = None


class Container(Record):
    """One container of a pod; `state` is waiting, running or terminated."""

    name: str
    init: bool = False
    state: str = ""
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    ready: bool = False
    restarts: int = 0
    started_at: str = ""
    finished_at: str = ""
    last_reason: str = ""
    last_exit_code: int | None = None


class Pod(Record):
    """One pod of a job; `reason` says why it does not run, or how it failed."""

    name: str
    uid: str = ""
    epoch: int = 0
    node: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    restarts: int = 0
    created_at: str = ""
    started_at: str = ""
    finished_at: str = ""
    containers: tuple[Container, ...] = ()

    @property
    def exit_code(self) -> int | None:
        """The first exit code of its containers that is not 0; 0 if all have succeeded, else None."""
        codes = [each.exit_code for each in self.containers if not each.init]
        failed = next((each.exit_code for each in self.containers if each.exit_code), None)
        if failed is not None:
            return failed
        return 0 if codes and all(code == 0 for code in codes) else None


class MemberEvent(Record):
    """A member's event for a job or one of its pods."""

    at: str = ""
    type: str = ""
    reason: str = ""
    message: str = ""
    object: str = ""
    count: int = 1


class JobPods(Record):
    """Pods of a job, oldest first, and the member's events; `left_out` counts unlisted pods."""

    cluster: str = ""
    items: tuple[Pod, ...] = ()
    left_out: int = 0
    events: tuple[MemberEvent, ...] = ()
    events_unread: str = ""

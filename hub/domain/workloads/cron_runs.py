"""The next run of a CronJob, decided as the CronJob controller of Kubernetes decides it. Pure.

Of the scheduled times that have passed since the last one that was decided, the newest alone may run
(pkg/controller/cronjob: mostRecentScheduleTime, syncCronJob).
"""

import datetime as dt
import hashlib
import uuid
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, takewhile
from typing import Final

from hub.domain.workloads.cron_schedule import CronSchedule, read_schedule
from shared.documents import JsonView

MOST_COUNTED: Final = 100  # more missed times than these are a warning, as in Kubernetes
LONGEST_NAME: Final = 52  # of a CronJob: its children have 11 characters more


class Concurrency(StrEnum):
    """The policy for a run while an earlier one has not ended."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    REPLACE = "Replace"


class Decided(StrEnum):
    """Wait: nothing is due. Start: create the child. Blocked: Forbid, and a child has not ended."""

    WAIT = "Wait"
    START = "Start"
    BLOCKED = "Blocked"


@dataclass(frozen=True, slots=True)
class CronRules:
    """A CronJob's spec without its template. Durations in seconds."""

    schedule: CronSchedule
    concurrency: Concurrency
    deadline_s: int | None
    suspended: bool
    keep_succeeded: int
    keep_failed: int


@dataclass(frozen=True, slots=True)
class NextRun:
    """`at`: the scheduled time that is due (Start, Blocked). `missed`: times before it that never run;
    MOST_COUNTED + 1 stands for more. `late`: the newest time whose deadline passed before it ran (Wait).
    `look_at`: when to decide again, if nothing changes before.
    """

    decided: Decided
    at: dt.datetime | None = None
    missed: int = 0
    late: dt.datetime | None = None
    look_at: dt.datetime | None = None


def rules_of(spec: JsonView) -> CronRules:
    """The rules of a CronJob's spec that was read before. Raises BadSchedule."""
    deadline = spec.get("startingDeadlineSeconds")
    return CronRules(
        read_schedule(spec["schedule"], spec.get("timeZone")),
        Concurrency(spec.get("concurrencyPolicy") or Concurrency.ALLOW),
        deadline,
        bool(spec.get("suspend")),
        _or(spec.get("successfulJobsHistoryLimit"), 3),
        _or(spec.get("failedJobsHistoryLimit"), 1),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def next_run(
    rules: CronRules, since: dt.datetime, now: dt.datetime, *, is_active: bool
) -> NextRun:
    """`since`: the last scheduled time that was decided, else when the CronJob was created.

    `is_active`: a child has not ended.
    """
    if rules.suspended:
        return NextRun(Decided.WAIT)
    earliest = since
    if rules.deadline_s is not None:
        earliest = max(since, now - dt.timedelta(seconds=rules.deadline_s))
    passed = takewhile(lambda at: at <= now, rules.schedule.after(earliest))
    due = list(islice(passed, MOST_COUNTED + 2))
    look_at = next(rules.schedule.after(now), None)
    if not due:
        late = rules.schedule.newest(earliest) if earliest > since else None
        late = late if late is not None and late > since else None
        return NextRun(Decided.WAIT, late=late, look_at=look_at)
    many = len(due) == MOST_COUNTED + 2
    at = (rules.schedule.newest(now) if many else None) or due[-1]
    blocked = is_active and rules.concurrency is Concurrency.FORBID
    decided = Decided.BLOCKED if blocked else Decided.START
    return NextRun(decided, at, missed=len(due) - 1, look_at=look_at)


def decided_until(before: dt.datetime | None, now: dt.datetime) -> dt.datetime:
    """Up to when all times are given up; a clock that was set back decides nothing anew."""
    return max(now, before or now)


def child_name(cron_job: str, at: dt.datetime) -> str:
    """The child's name: the CronJob's and the minutes since 1970 of its scheduled time, as in Kubernetes."""
    return f"{cron_job}-{int(at.timestamp()) // 60}"


def child_uid(cron_job_uid: str, at: dt.datetime) -> str:
    """The child's uid, the same for each hub that creates it: a UUID of version 8 (RFC 9562)."""
    given = f"roadstead.dev/cron-job/{cron_job_uid}/{int(at.timestamp()) // 60}"
    made = bytearray(hashlib.sha256(given.encode()).digest()[:16])
    made[6] = made[6] & 0x0F | 0x80
    made[8] = made[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(made)))

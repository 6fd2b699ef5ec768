"""A CronJob with one scheduled time (levels of the whole hub), and what must hold of that time's Job.

R-25: whatever dies, resumes, leads twice or is restored, the time becomes one Job at most, and one where the
store never went back. That this Job runs once is R-04, as of all.
"""

import datetime as dt
import random
from functools import partial
from typing import Any, Final

from hub.domain.workloads.cron_runs import child_name, child_uid
from hub.services.jobs.cron.status import CronStatus, told
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.services.works import accounted
from hub.store import objects
from hub.store.transaction import Transaction
from shared.kinds.registry import parse
from tests.services.hubs import a_job
from tests.simulation.world import Violation

NAME: Final = "timed"
UID: Final = "cron"
_SHARE: Final = 0.5  # of the seeds


class CronTime:
    """Judges the Job of the scheduled time. `at`: None in seeds without one."""

    def __init__(self) -> None:
        self.at: dt.datetime | None = None
        self.asked: dt.datetime | None = None  # a user who heard no answer asks for the same time
        self.is_refused = (
            False  # a store that went back waits until its members have read their CronJobs
        )
        self.went_back = False  # the store may have lost the CronJob, or the Job

    def looked_over(self, rows: dict[str, Any]) -> None:
        """No Job of the CronJob but that of the time."""
        if self.at is None:
            return
        wanted = {child_uid(UID, self.at): child_name(NAME, self.at)}
        for uid, row in rows.items():
            if row["name"].startswith(f"{NAME}-") and wanted.get(uid) != row["name"]:
                raise Violation("R-25", f"{row['name']} is {uid}: a second Job of one time")

    def unsettled(self, rows: dict[str, Any]) -> tuple[str, str] | None:
        """The time has become a Job, unless the store that knew of it is gone."""
        if self.at is None or self.went_back:
            return None
        if child_uid(UID, self.at) not in rows:
            return "R-25", f"the time {self.at} of {NAME} has become no Job"
        return None


def begin(run: Any) -> None:
    """In some seeds a CronJob is applied, whose time has just come."""
    die = random.Random(run.scenario.seed ^ 0xC407)
    if die.random() > _SHARE:
        return
    notes = run.notes()
    at = die.random() * 30.0

    def apply() -> None:
        times = run.hub.checks.cron_time
        applied = partial(_apply_cron_job, notes=notes, times=times, hub=run.hub)
        if (
            not run.hub.up or not run.hub.schedule(applied) or times.is_refused
        ):  # a user tries again
            run.world.after(1.0, apply)
            return
        run.pending -= 1

    run.pending += 1
    run.world.after(at, apply)


def _apply_cron_job(
    tx: Transaction, notes: dict[str, str], times: CronTime, hub: Any
) -> dt.datetime:
    """Apply it in a transaction; its only time, which is the minute of the first attempt."""
    due = times.asked = times.asked or tx.now.replace(second=0, microsecond=0)
    is_new = objects.get(tx, UID) is None
    job = a_job("x", "n", queue="q", annotations=notes)
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": NAME, "namespace": "n"},
        "spec": {
            "schedule": f"{due.minute} {due.hour} {due.day} {due.month} *",
            "jobTemplate": {
                "metadata": {part: job["metadata"][part] for part in ("labels", "annotations")},
                "spec": job["spec"],
            },
        },
    }
    drafted = draft(parse(manifest), tx.now, uid=UID)
    (applied,) = apply_documents(tx, [drafted], hub.hub.settings.intake)
    times.is_refused = (
        applied.error is not None
        and applied.error.code == "Conflict"
        and accounted.restored_at(tx) is not None
    )
    if times.is_refused:
        return due
    assert applied.error is None, applied
    if is_new:
        before = CronStatus(decided_until=due - dt.timedelta(minutes=1))
        objects.set_statuses(tx, {UID: told(before, "n")})
    return due

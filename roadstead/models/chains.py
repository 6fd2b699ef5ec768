"""Chains of jobs: whom a job waits for, and who waits for it."""

import datetime as dt

from roadstead.models.record import Record


class ChainedJob(Record):
    """A job before or after another; `uid` and `job_state` are "" of one that is not there, or not shown."""

    name: str
    uid: str = ""
    condition: str = "ok"  # ok | any | fail
    state: str = ""  # Waiting | Satisfied | NeverSatisfied | Waived
    ended: str = ""  # how it had ended when that was decided
    job_state: str = ""
    job_reason: str = ""
    job_cluster: str = ""
    since: dt.datetime | None = None

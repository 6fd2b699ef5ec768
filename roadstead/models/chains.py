"""Chains of jobs: dependencies and dependents."""

import datetime as dt

from roadstead.models.record import Record


class ChainedJob(Record):
    """A job before or after another; `uid` and `job_state` are "" if it does not exist or is not visible."""

    name: str
    uid: str = ""
    condition: str = "ok"  # ok | any | fail
    state: str = ""  # Waiting | Satisfied | NeverSatisfied | Waived
    ended: str = ""  # how it had ended when that was decided
    job_state: str = ""
    job_reason: str = ""
    job_cluster: str = ""
    since: dt.datetime | None = None

"""When a Job ran, by the clock of its member: shown to people, orders nothing."""

import datetime as dt

from hub.domain.instants import told_instant
from hub.store.records.workloads import MoveColumns
from shared.wire.agent_v1 import JobStatus


def run_times(job: JobStatus, now: dt.datetime) -> MoveColumns:
    """Its begin and end by its member's clock, as far as reported."""
    told: MoveColumns = {}
    if (began := told_instant(job.running_since, now)) is not None:
        told["ran_from"] = began
    if job.result and (ended := told_instant(job.completion_time, now)) is not None:
        told["ran_until"] = ended if began is None else max(began, ended)
    return told

"""Admission checks: their answers, and open ones."""

import datetime as dt

from roadstead.models.record import Json, Record, record_field


class CheckState(Record):
    """One check of a job. `state` is Pending, Ready, Retry or Rejected."""

    name: str
    controller_name: str = ""
    state: str
    message: str = ""
    at: dt.datetime | None = None
    requeue_after_s: int | None = record_field("requeueAfterSeconds", default=None)
    retry_count: int = 0
    pod_set_updates: tuple[Json, ...] = ()


class JobChecks(Record):
    """The checks of one job."""

    uid: str
    state: str = ""
    cluster: str = ""
    items: tuple[CheckState, ...] = ()


class OpenCheck(CheckState):
    """An open check of a job that holds quota."""

    uid: str
    kind: str = ""
    namespace: str
    workload: str
    queue: str = ""
    cluster_queue: str = ""
    cluster: str = ""
    admission: Json | None = None
    reserved_at: dt.datetime | None = None

"""Explanations: where a job is and why."""

import datetime as dt

from roadstead.models.chains import ChainedJob
from roadstead.models.checks import CheckState
from roadstead.models.lost_clusters import EarlierEpoch, LostCluster
from roadstead.models.record import Json, Record, record_field


class Position(Record):
    """A job's position in its queue, from 1, and the number of waiting jobs."""

    in_queue: int
    of_queue: int = 0
    overall: int = 0
    of_overall: int = 0


class TimelineEntry(Record):
    """One event of a job."""

    at: dt.datetime
    type: str = ""
    reason: str = ""
    message: str = ""


class Remedy(Record):
    """One difference with which the scheduler would admit the job; `jobs` are some of `jobs_total`."""

    kind: str
    message: str = ""
    amounts: tuple[Json, ...] = ()
    jobs: tuple[Json, ...] = ()
    jobs_total: int = 0
    number: int | None = None
    cluster: str = ""
    at: dt.datetime | None = None


class FlavorOutlook(Record):
    """The result for the job with one flavor."""

    flavor: str
    outcome: str = ""
    message: str = ""
    preempts: int = 0


class ClusterOutlook(Record):
    """Whether one member has room, regardless of quota."""

    cluster: str
    fits: bool = False
    message: str = ""


class Forecast(Record):
    """The expected start of the job; `at` is None if there is no forecast."""

    at: dt.datetime | None = None
    not_before: dt.datetime | None = None
    message: str = ""
    rests_on: tuple[Json, ...] = ()
    rests_on_total: int = 0
    admitted_before: int = 0
    preempted: int = 0


class AvoidedBecause(Record):
    """Why the hub avoids a member for a job, in the words of the event."""

    reason: str
    message: str


class Explanation(Record):
    """Where a job is and why. docs/reference/rest.md describes `waiting` and `decision`."""

    uid: str
    namespace: str
    name: str
    queue: str = ""
    owner: str = ""
    cluster_queue: str = ""
    priority: int = 0
    state: str
    reason: str = ""
    message: str = ""
    cluster: str = ""
    epoch: int = 0
    placement: str = ""
    position: Position | None = None
    waiting: Json | None = None
    admission: Json | None = None
    decision: Json | None = None
    set_aside: dict[str, dt.datetime | None] = record_field(default_factory=dict)
    set_aside_because: dict[str, AvoidedBecause] = record_field(default_factory=dict)
    nomination: Json | None = None
    checks: tuple[CheckState, ...] = ()
    cluster_loss: LostCluster | None = None
    earlier_epochs: tuple[EarlierEpoch, ...] = ()
    after: tuple[ChainedJob, ...] = ()  # its dependencies
    before: tuple[ChainedJob, ...] = ()  # some of those that wait or waited for it
    timeline: tuple[TimelineEntry, ...] = ()
    quota: tuple[Json, ...] = ()
    preemption: Json | None = None
    remedies: tuple[Remedy, ...] = ()
    flavors: tuple[FlavorOutlook, ...] = ()
    fleet: tuple[ClusterOutlook, ...] = ()
    forecast: Forecast | None = None
    complete: bool = True

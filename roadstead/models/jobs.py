"""Jobs as the hub lists them, one job by itself, and what happened to it."""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from roadstead.errors import Rejected
from roadstead.models.chains import ChainedJob
from roadstead.models.lost_clusters import EarlierEpoch, LostCluster
from roadstead.models.record import Json, Record, record_field


class JobState(StrEnum):
    """Where a job is in its life; docs/reference/states.md says what leads where."""

    HELD = "Held"
    PENDING = "Pending"
    RESERVED = "Reserved"
    PLACED = "Placed"
    OFFERED = "Offered"
    APPLIED = "Applied"
    RUNNING = "Running"
    WITHDRAWING = "Withdrawing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    DEACTIVATED = "Deactivated"
    UNKNOWN = "Unknown"


ENDED: Final = frozenset(
    {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.DEACTIVATED}
)


class Job(Record):
    """A job as lists show it. `state` is one of JobState's, or of a newer hub's."""

    uid: str
    kind: str = "Job"
    namespace: str
    name: str
    queue: str = ""
    owner: str = ""  # who submitted it, or unknown; "" of an older hub
    state: str
    reason: str = ""
    message: str = ""
    cluster: str = ""
    epoch: int = 0
    created_at: dt.datetime
    started_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None
    requests: dict[str, str] | None = (
        None  # of all its pods; None just submitted, and of an older hub
    )
    warnings: tuple[str, ...] = ()  # of a job just submitted

    @property
    def full_name(self) -> str:
        """Its `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, however."""
        return self.state in ENDED

    @property
    def has_succeeded(self) -> bool:
        """Whether it has ended as it should."""
        return self.state == JobState.SUCCEEDED


class PodCounts(Record):
    """Pods of a job, as its member reported them last."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0


class Eviction(Record):
    """Why a job's quota was taken back the last time."""

    reason: str = ""
    cause: str = ""
    message: str = ""
    at: dt.datetime | None = None


class WholeJob(Job):
    """Everything about one job; amounts in `pod_sets` and `admission` are in milli-CPUs and bytes."""

    origin: str = ""
    generation: int = 1
    cluster_queue: str = ""
    priority: int = 0
    priority_class: str = ""
    placement: str = ""
    counts: PodCounts = record_field(default_factory=PodCounts)
    parallelism: int = 0
    completions: int = 0
    pod_sets: tuple[Json, ...] = ()
    admission: Json | None = None
    decision: Json | None = None
    labels: dict[str, str] = record_field(default_factory=dict)
    annotations: dict[str, str] = record_field(default_factory=dict)
    withdraw_to: str = ""
    queued_at: dt.datetime | None = None
    requeue_at: dt.datetime | None = None
    requeues: int = 0
    evicted: Eviction | None = None
    evictions: dict[str, int] = record_field(default_factory=dict)
    max_runtime_s: int | None = record_field("maxRuntimeSeconds", default=None)
    ran_s: float = record_field("ranSeconds", default=0)
    placed_at: dt.datetime | None = None
    applied_at: dt.datetime | None = None
    pods_ready_at: dt.datetime | None = None
    deleted_at: dt.datetime | None = None
    cluster_loss: LostCluster | None = None
    earlier_epochs: tuple[EarlierEpoch, ...] = ()
    after: tuple[ChainedJob, ...] = ()  # whom it waits or waited for
    before: tuple[ChainedJob, ...] = ()  # some of those that wait or waited for it
    manifest: Json = record_field(default_factory=dict)


class Event(Record):
    """One thing that happened."""

    id: int = 0
    at: dt.datetime
    uid: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    type: str = ""
    reason: str = ""
    message: str = ""
    cluster: str = ""
    epoch: int = 0
    cause: str = ""
    subject: str = ""
    member_at: dt.datetime | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of one of many submitted jobs: the job, or why it was refused."""

    index: int  # its place among those given, from 0
    job: Job | None = None
    refusal: Rejected | None = None


class Outcomes(tuple[Outcome, ...]):
    """What became of many submitted jobs, in the order in which they were given."""

    __slots__ = ()

    @property
    def jobs(self) -> list[Job]:
        """Those that were taken."""
        return [each.job for each in self if each.job is not None]

    @property
    def refused(self) -> list[Outcome]:
        """Those that were not."""
        return [each for each in self if each.refusal is not None]

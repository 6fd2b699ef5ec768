"""Jobs as the hub lists them, one job in full, and its events."""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from roadstead.errors import Rejected
from roadstead.models.chains import ChainedJob
from roadstead.models.lost_clusters import EarlierEpoch, LostCluster
from roadstead.models.record import Json, Record, record_field


class JobState(StrEnum):
    """The state of a job; docs/reference/states.md has the transitions."""

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
        """Whether it has ended, with any result."""
        return self.state in ENDED

    @property
    def has_succeeded(self) -> bool:
        """Whether it has succeeded."""
        return self.state == JobState.SUCCEEDED


class PodCounts(Record):
    """Pods of a job, as last reported by its member."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0


class Eviction(Record):
    """A job's last eviction."""

    reason: str = ""
    cause: str = ""
    message: str = ""
    at: dt.datetime | None = None


class WholeJob(Job):
    """All fields of one job; amounts in `pod_sets` and `admission` are in milli-CPUs and bytes."""

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
    after: tuple[ChainedJob, ...] = ()  # its dependencies
    before: tuple[ChainedJob, ...] = ()  # some of those that wait or waited for it
    manifest: Json = record_field(default_factory=dict)
    status: Json | None = None  # of another kind than Job: as its operator wrote it last


class Event(Record):
    """One event."""

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
    """The outcome of one of many submitted jobs: the job, or the error."""

    index: int  # its place among those given, from 0
    job: Job | None = None
    refusal: Rejected | None = None


class Outcomes(tuple[Outcome, ...]):
    """The outcomes of many submitted jobs, in the order of submission."""

    __slots__ = ()

    @property
    def jobs(self) -> list[Job]:
        """The accepted jobs."""
        return [each.job for each in self if each.job is not None]

    @property
    def refused(self) -> list[Outcome]:
        """The rejected jobs."""
        return [each for each in self if each.refusal is not None]

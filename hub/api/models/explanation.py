"""The explanation of a job: position, numbers, verdicts, remedies, forecast."""

from typing import Literal

from hub.api.models.base import Amounts, Instant, Model
from hub.api.models.checks import CheckState
from hub.api.models.jobs import (
    ChainedJob,
    ClusterVerdict,
    EarlierEpoch,
    JobAdmission,
    LostCluster,
    PlacementDecision,
)
from hub.api.models.queues import FlavorQuota
from hub.domain.workloads.states import State
from shared.documents import Json


class QueuePosition(Model):
    """Its place, counted from 1."""

    in_queue: int
    of_queue: int
    overall: int
    of_overall: int


class QuotaShortage(Model):
    """The missing quota of one flavor."""

    flavor: str
    resource: str
    asked: str
    used: str
    limit: str
    missing: str
    """To be released or added; of what is more than the queue can ever have, what is beyond that."""
    cohort: str
    """Whose limit it is; empty for its own queue's."""
    message: str = ""
    """All of it in words, as the reason has it."""


class NearestMiss(Model):
    """The cluster that comes nearest, and what it misses there."""

    cluster: str
    pod_set: str
    missing: Amounts
    pods: int
    count: int
    message: str


class WaitingReason(Model):
    """The rule that holds it, in numbers."""

    queue: str
    reason: str
    message: str
    head: str
    """Uid of the job ahead that has to go first, if that is the reason."""
    quota: list[QuotaShortage]
    clusters: list[ClusterVerdict]
    nearest: NearestMiss | None
    never: bool = False
    """It lacks quota, and no member could ever hold it, however empty."""
    retry_at: Instant | None


class AvoidedBecause(Model):
    """The reason why a member is avoided, in the words of its event."""

    reason: str
    message: str


class PreemptionCandidate(Model):
    """A job that could go for it."""

    namespace: str
    name: str
    cluster_queue: str
    priority: int
    cluster: str


class SparedJobs(Model):
    """Jobs that one rule protects."""

    reason: str
    count: int
    examples: list[PreemptionCandidate]


class PreemptionPicture(Model):
    """Possible victims, and how many workloads each rule spares."""

    candidates: list[PreemptionCandidate]
    candidates_total: int
    spared: list[SparedJobs]


class TimelineEntry(Model):
    """One thing that happened to it."""

    at: Instant
    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class FlavorOutcome(Model):
    """The possible assignment with one flavor alone."""

    flavor: str
    outcome: str
    """`Fits`, `Preempts`, or the reason why not."""
    message: str
    preempts: int


class ClusterRoom(Model):
    """Whether one cluster has room for it, quota aside."""

    cluster: str
    fits: bool
    message: str


class ConcernedJob(Model):
    """A job that a remedy or the forecast rests on."""

    uid: str
    namespace: str
    name: str
    ends_at: Instant | None
    cluster_queue: str = ""
    priority: int = 0
    cluster: str = ""
    since: Instant | None = None


class FlavorAmount(Model):
    """So much of a resource in a flavor."""

    flavor: str
    resource: str
    amount: str


class AdmissionRemedy(Model):
    """One difference under which the scheduler would admit it."""

    kind: Literal[
        "Turn", "Preemption", "Release", "Priority", "Policy", "Budget", "MinimumRuntime",
        "ProtectedQueue", "Quota", "BorrowingLimit", "Nodes", "Uncordon", "Constraints",
        "SetAside", "FewerPods", "Rule",
    ]  # fmt: skip
    message: str
    amounts: list[FlavorAmount] = []
    jobs: list[ConcernedJob] = []
    """At most 20 of `jobsTotal`."""
    jobs_total: int = 0
    number: int = 0
    cluster: str = ""
    at: Instant | None = None


class StartForecast(Model):
    """When it is expected to start, and what that rests on."""

    at: Instant | None
    not_before: Instant | None
    message: str
    rests_on: list[ConcernedJob]
    rests_on_total: int
    admitted_before: int
    preempted: int


class Explanation(Model):
    """The location of a job and the reason."""

    uid: str
    namespace: str
    name: str
    queue: str
    owner: str
    """Who submitted it, or `unknown`."""
    cluster_queue: str
    priority: int
    state: State
    reason: str
    message: str
    cluster: str
    epoch: int
    placement: str
    position: QueuePosition | None
    waiting: WaitingReason | None
    quota: list[FlavorQuota] = []
    preemption: PreemptionPicture | None = None
    admission: JobAdmission | None
    decision: PlacementDecision | None
    set_aside: dict[str, Instant | None]
    """Members that are avoided, until when; null: until a person releases it."""
    set_aside_because: dict[str, AvoidedBecause]
    nomination: Json | None
    """The cluster that it waits for while those it preempts go."""
    checks: list[CheckState]
    cluster_loss: LostCluster | None = None
    earlier_epochs: list[EarlierEpoch] = []
    after: list[ChainedJob] = []
    """Its dependencies and dependents."""
    before: list[ChainedJob] = []
    """Who waits or waited for it: at most 100."""
    timeline: list[TimelineEntry]
    remedies: list[AdmissionRemedy]
    flavors: list[FlavorOutcome]
    fleet: list[ClusterRoom]
    forecast: StartForecast | None
    complete: bool
    """False where there was no time to ask everything."""

"""Jobs: as lists show them, whole, and as they are answered when they are submitted."""

from typing import Any, Literal

from hub.api.models.base import (
    Amounts,
    Body,
    Instant,
    Kubernetes,
    Labels,
    ListPage,
    Model,
    example_of,
)
from hub.api.models.problem import FieldProblem
from hub.domain.workloads.chains import EndCondition, LinkState
from hub.domain.workloads.states import State


class JobSummary(Model):
    """A job as lists show it."""

    uid: str
    kind: str
    """Job, Workload, or another kind that the hub dispatches, such as JobSet."""
    namespace: str
    name: str
    queue: str
    """Its LocalQueue."""
    owner: str
    """Who submitted it; `unknown` if the owner is not known."""
    state: State
    reason: str
    """Why it is in its state, as one word."""
    cluster: str
    """Its cluster, or its target; empty while it waits."""
    epoch: int
    """Counts its placements."""
    created_at: Instant
    started_at: Instant | None
    """Start of the run it is in, or has ended with."""
    finished_at: Instant | None
    requests: Amounts | None
    """What all its pods ask for together; null in answers to a submission."""


class JobList(ListPage):
    """A page of jobs, newest first."""

    items: list[JobSummary]


class SubmittedJob(JobSummary):
    """A job that was taken."""

    message: str
    warnings: list[str] = []
    """What of it is kept and changes nothing, and why it may never start."""


class PodCounts(Model):
    """Pods of a job, as its Job's status counts them."""

    active: int
    ready: int
    succeeded: int
    failed: int


class PodSet(Model):
    """Equal pods."""

    name: str
    count: int
    requests: dict[str, int]
    """Of one pod: cpu in thousandths, everything else in whole units."""
    node_selector: Labels | None = None
    affinity: Kubernetes | None = None
    tolerations: list[Kubernetes] | None = None
    min_count: int | None = None


class AdmittedPodSet(Model):
    """The charge of one pod set."""

    name: str
    flavors: Labels = {}
    """Flavor by resource."""
    usage: dict[str, int] = {}
    count: int | None = None


class JobAdmission(Model):
    """Flavors, and what was charged."""

    pod_sets: list[AdmittedPodSet] = []


class TermOfScore(Model):
    """The points of one rule for a cluster."""

    name: str
    weight: float
    score: float
    value: Any = None


class ClusterVerdict(Model):
    """An evaluated cluster, and the finding."""

    cluster: str
    selected: bool = False
    score: float
    topology_score: float
    rule: str = ""
    """The rule that it does not pass, if there is one."""
    reason: str
    message: str
    terms: list[TermOfScore] = []
    running: int | None = None


class PlacementDecision(Model):
    """The reason for its cluster."""

    profile: str = ""
    """By which rules clusters were compared."""
    clusters: list[ClusterVerdict] = []
    others: int = 0
    """Evaluated clusters that are not listed."""


class LastEviction(Model):
    """The reason of its last withdrawal."""

    reason: str
    message: str = ""
    at: Instant | None = None
    cause: str = ""


class LostCluster(Model):
    """The effect of its cluster's silence on a job that is Unknown."""

    cluster: str
    policy: str
    """`roadstead.dev/on-cluster-loss`, as the job has it; without it, `RescheduleWhenFenced`."""
    heard_at: Instant | None
    moves_not_before: Instant | None
    """The time at which it starts elsewhere; later if the hub itself was away meanwhile."""
    choices: list[str]
    """What can become of it, in words."""


class EarlierEpoch(Model):
    """A run that a lost cluster may still have of a job that started elsewhere since, as the job allowed."""

    cluster: str
    epoch: int
    overlapped: bool
    """It is known to have run beside a later epoch."""
    active: int
    said: str
    observed_at: Instant | None
    cluster_heard_at: Instant | None


class ChainedJob(Model):
    """A job before or after another one: a dependency or a dependent."""

    name: str
    uid: str
    """Empty while no job of that name has come, and for a job that the caller may not see."""
    condition: EndCondition
    """How it must end: `ok`, `any` or `fail`."""
    state: LinkState
    """Whether it did; `Waived`: a person let the one that waited go regardless."""
    ended: str
    """How it had ended when that was decided."""
    job_state: State | Literal[""]
    job_reason: str
    job_cluster: str
    since: Instant | None
    """Since when it is in its state."""


class JobDetail(JobSummary):
    """Everything about one job."""

    message: str
    origin: str
    """`rest`, or `hub-cluster`."""
    generation: int
    cluster_queue: str
    priority: int
    priority_class: str
    placement: str
    counts: PodCounts
    parallelism: int | None
    completions: int | None
    pod_sets: list[PodSet] | None
    admission: JobAdmission | None
    decision: PlacementDecision | None
    labels: Labels | None
    annotations: Labels | None
    withdraw_to: str
    """The next state once its cluster has released it."""
    queued_at: Instant | None
    requeue_at: Instant | None
    requeues: int
    evicted: LastEviction | None
    evictions: dict[str, int]
    """How often, by reason, or `reason/cause`."""
    max_runtime_seconds: int | None
    ran_seconds: int
    placed_at: Instant | None
    applied_at: Instant | None
    pods_ready_at: Instant | None
    deleted_at: Instant | None
    cluster_loss: LostCluster | None = None
    earlier_epochs: list[EarlierEpoch] = []
    after: list[ChainedJob] = []
    """Its dependencies."""
    before: list[ChainedJob] = []
    """Who waits or waited for it: at most 100."""
    manifest: Kubernetes | None
    status: Kubernetes | None = None
    """Of another kind than Job: its own status, as its operator in the member wrote it last."""


class TakenJob(JobSummary):
    """One Job of a batch that was taken."""

    index: int
    warnings: list[str] = []


class RefusedJob(Model):
    """One Job of a batch that was refused."""

    index: int
    code: str
    detail: str
    errors: list[FieldProblem]


class BatchWarning(Model):
    """The reason why one Job of a batch may never start."""

    index: int
    message: str


class BatchResult(Model):
    """One result per Job, in order."""

    items: list[TakenJob | RefusedJob]
    accepted: int
    rejected: int
    warnings: list[BatchWarning] = []


class PriorityWish(Body):
    """The wanted priority of a job."""

    model_config = example_of({"priorityClass": "urgent"})

    priority_class: str
    """The name of a WorkloadPriorityClass; empty for none."""

"""What an administrator may set, as small frozen records by concern; services get them passed in.

`hub.config` reads them from the environment; nothing here or below does.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal

from shared.wire.agent_v1 import SUSPECT_AFTER_S


@dataclass(frozen=True, slots=True)
class Intake:
    """What becomes of what users send."""

    unqueued_jobs: Literal["Default", "Reject"] = "Default"
    """A Job without queue in a namespace without LocalQueue `default`: provide one, or refuse it."""
    missing_namespace_selector: Literal["Everything", "Nothing"] = "Everything"
    """Namespaces that a ClusterQueue without namespaceSelector admits (Kueue's is Nothing)."""
    unsuspendable_labels: str = "notebook-name"
    """Labels (key or key=value, by comma), also of pod templates, of what can not be suspended."""
    protected_queues: str = field(default="", init=False)  # as in Queueing
    idempotency_kept: dt.timedelta = dt.timedelta(hours=24)
    """How long a reply can be replayed under its Idempotency-Key."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Limits of the live cycle."""

    cycle_s: float = 0.5
    """A cycle ends after this long and goes on from a fresh snapshot, s."""
    cycle_placements: int = 5000
    """Placements of one cycle: one transaction."""
    pods_pending_timeout_s: float = 600.0
    """Placed without all pods bound for this long: withdraw and requeue, s."""
    elastic_pending_timeout_s: float = 1800.0
    """The same where nodes must be added first, by an autoscaled pool of the cluster, s."""
    suspect_after_s: float = SUSPECT_AFTER_S
    """A cluster silent for this long gets no new work, s; what it was not told yet goes elsewhere."""
    unreachable_after_s: float = 60.0
    """A cluster silent for this long is unreachable: its jobs are Unknown and wait, s."""


@dataclass(frozen=True, slots=True)
class Queueing:
    """How queues share: what Kueue keeps in its configuration. Off means as Kueue without it."""

    fair_sharing: Literal["Off", "On"] = "Off"
    """Borrowing queues take turns by their weighted share of the cohort; preemption by share too."""
    fair_sharing_strategies: Literal[
        "LessThanOrEqualToFinalShare,LessThanInitialShare",
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    ] = "LessThanOrEqualToFinalShare,LessThanInitialShare"
    """Rules by which a share allows a preemption, in order."""
    partial_admission: Literal["Off", "On"] = "Off"
    """Jobs with annotation job-min-parallelism may start with fewer pods."""
    max_preempted_workloads: int = 0
    """Most workloads one preemption may displace; 0 is no limit."""
    minimum_runtime_s: float = 0.0
    """A workload is not preempted before it has been admitted for this long, s."""
    victim_order: str = "LowestPriority,MostRecent"
    """Who goes first: LowestPriority, MostRecent, Smallest, LeastWorkLost, in order."""
    non_preemptible_queues: str = ""
    """ClusterQueues, by comma, none of whose workloads is ever preempted."""
    admission_fair_sharing: Literal["Off", "On"] = "Off"
    """LocalQueues that used less go first, where admissionMode of their ClusterQueue says so."""
    usage_half_life_s: float = 0.0
    """Usage counts half as much after this long, s; 0 remembers nothing."""
    usage_sampling_s: float = 300.0
    """How often usage is sampled, s."""
    usage_resource_weights: str = ""
    """What a unit of each resource counts, as cpu=1,memory=0.000001 by comma; 1 where not named."""
    pods_ready_timeout_s: float = 0.0
    """Admitted without all pods ready for this long: evicted and requeued, s; 0 is never."""
    pods_ready_recovery_timeout_s: float = -1.0
    """The same once pods were ready and some are lost, s; negative: as the timeout; 0 is never."""
    block_admission: Literal["Off", "On"] = "Off"
    """Nothing more is admitted until all pods of everything admitted are ready."""
    requeuing_timestamp: Literal["Eviction", "Creation"] = "Eviction"
    """What evicted for its pods is queued by: when it was evicted, or when it was created."""
    requeuing_backoff_base_s: float = 60.0
    """The first such eviction keeps it out of line this long, each further one twice as long, s."""
    requeuing_backoff_max_s: float = 3600.0
    """… but never longer than this, s."""
    requeuing_backoff_limit: int = -1
    """More such evictions than this deactivate the workload; negative: any number may be."""
    preempt_for_capacity: Literal["Off", "On"] = "Off"
    """Where quota fits and no cluster has the room, lower priorities go on the one where they cost least."""
    ignore_undeclared_resources: Literal["Off", "On"] = "Off"
    """Resources for which a ClusterQueue has no quota are not counted (else such jobs wait)."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """What is written to the hub cluster."""

    workloads: Literal["On", "Off"] = "On"
    """Every Job there has a Workload object beside it that shows its conditions, as Kueue keeps them."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what grows is kept."""

    events: dt.timedelta = dt.timedelta(days=7)
    changes: dt.timedelta = dt.timedelta(hours=1)
    finished_jobs: dt.timedelta = dt.timedelta(days=7)
    audit: dt.timedelta = dt.timedelta(days=90)
    explanations: dt.timedelta = dt.timedelta(days=1)
    shapes: dt.timedelta = dt.timedelta(days=1)
    tokens: dt.timedelta = dt.timedelta(days=30)
    every_s: float = 10.0
    """How often old rows are looked for, s."""
    rows_per_turn: int = 5000
    """Rows deleted in one transaction: bounds how long writers wait."""


@dataclass(frozen=True, slots=True)
class Api:
    """The HTTP edge."""

    body_bytes: int = 1 << 20
    """Largest body of one request."""
    bulk_body_bytes: int = 16 << 20
    """Largest body of a batch or of several documents."""
    agent_body_bytes: int = 8 << 20
    """Largest body of an agent's request."""
    streams_per_principal: int = 1000
    """Change streams one principal may hold open."""
    token_cache_s: float = 5.0
    """A revoked credential ends within this long, s."""
    continue_kept: dt.timedelta = dt.timedelta(minutes=15)
    """How long a list can be continued."""
    join_token_kept: dt.timedelta = dt.timedelta(minutes=15)
    """How long a join token can be redeemed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Everything an administrator may set."""

    intake: Intake = field(default_factory=Intake)
    scheduling: Scheduling = field(default_factory=Scheduling)
    queueing: Queueing = field(default_factory=Queueing)
    bridge: Bridge = field(default_factory=Bridge)
    retention: Retention = field(default_factory=Retention)
    api: Api = field(default_factory=Api)

    def __post_init__(self) -> None:
        """Intake must know which queues never preempt."""
        declared = self.queueing.non_preemptible_queues
        object.__setattr__(self.intake, "protected_queues", declared)

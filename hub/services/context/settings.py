"""What an administrator may set, as small frozen records by concern; services get them passed in.

`hub.config` reads them from the environment; nothing here or below does.
"""

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Literal

from hub.services.access.sign_in.terms import Oidc, TokenReviews
from shared import podsecurity
from shared.bounds import Bounds
from shared.podsecurity import Level
from shared.podsecurity.rules import DENIED_NAMESPACES, OPEN_FIELDS
from shared.wire.agent_v1 import SUSPECT_AFTER_S


@dataclass(frozen=True, slots=True)
class Pods:
    """What pods of jobs and of other objects may ask for; lists are by comma."""

    security: Level = "baseline"
    """Pod Security level of namespaces without label pod-security.kubernetes.io/enforce."""
    denied_namespaces: str = DENIED_NAMESPACES
    """Namespaces, as patterns, in which nothing is placed."""
    service_accounts: str = "default"
    """Service accounts pods may run as: NAME, NAMESPACE/NAME, or * for any."""
    schedulers: str = "default-scheduler"
    """Values of schedulerName that pods may have."""
    priority_classes: str = "*"
    """Pods' priorityClassName, as patterns; those of the system (system-…) have to be named in full."""
    token_audiences: str = ""
    """Audiences of projected service account tokens, and signers of projected certificates."""
    fields: str = OPEN_FIELDS
    """Open: nodeName, csi, terminationGracePeriodSeconds, tolerateEverything, controlPlane, hostUsers."""

    def __post_init__(self) -> None:
        """Raises ValueError for what can not be meant."""
        self.rules()

    def rules(self) -> podsecurity.Rules:
        """The same, as manifests are judged by."""
        return podsecurity.Rules(
            level=self.security,
            denied_namespaces=self.denied_namespaces,
            service_accounts=self.service_accounts,
            schedulers=self.schedulers,
            priority_classes=self.priority_classes,
            token_audiences=self.token_audiences,
            fields=self.fields,
        )


@dataclass(frozen=True, slots=True)
class Intake:
    """What becomes of what users send."""

    unqueued_jobs: Literal["Default", "Auto", "Reject"] = "Auto"
    """A Job without queue: provide LocalQueue `default` (Auto: until there are ClusterQueues), or refuse."""
    missing_namespace_selector: Literal["Everything", "Nothing"] = "Everything"
    """Namespaces that a ClusterQueue without namespaceSelector admits (Kueue's is Nothing)."""
    unsuspendable_labels: str = "notebook-name"
    """Labels (key or key=value, by comma), also of pod templates, of what can not be suspended."""
    protected_queues: str = field(default="", init=False)  # as in Queueing
    partial_admission: bool = field(default=False, init=False)  # as in Queueing
    pods: podsecurity.Rules = field(default_factory=podsecurity.Rules, init=False)  # as in Pods
    idempotency_kept: dt.timedelta = dt.timedelta(hours=24)
    """How long a reply can be replayed under its Idempotency-Key."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Limits of the live cycle."""

    profile: Literal["Balance", "KubeFleet"] = "Balance"
    """Balance where no property sorters decide; or KubeFleet's arithmetic, its ranges over all members."""
    cycle_s: float = 0.5
    """A cycle ends after this long and goes on from a fresh snapshot, s."""
    cycle_placements: int = 5000
    """Placements of one cycle: one transaction."""
    pods_pending_timeout_s: float = 600.0
    """Placed without all pods bound for this long, on a healthy cluster: withdraw and requeue, s."""
    elastic_pending_timeout_s: float = 1800.0
    """The same where nodes must be added first, by an autoscaled pool of the cluster, s."""
    suspect_after_s: float = SUSPECT_AFTER_S
    """A cluster silent for this long gets no new work, s; what it was not told yet goes elsewhere."""
    unhealthy_after_s: float = 60.0
    """A cluster's API server down for this long: what it was offered and nobody saw is asked back, s."""
    silence_withdrawals_per_minute: int = 120
    """Most jobs of the whole fleet that a leading hub asks back so in a minute; 0: no limit."""
    unreachable_after_s: float = 60.0
    """A cluster silent for this long is unreachable: its jobs are Unknown and wait, s."""


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Staged update runs whose strategy does not say it itself."""

    stuck_after_s: float = 300.0
    """A cluster whose new version is not available after this long is stuck, and has failed, s."""
    stop_after_failed: int = 0
    """So many failed clusters stop a run; 0: none does."""


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
    """Most workloads that are preempted for one job until it is placed; 0 is no limit."""
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
    """Admitted without all pods ready for this long, on a healthy cluster: evicted, requeued, s; 0: never."""
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
    preemptors_first: Literal["On", "Off"] = "On"
    """Who waits for those it preempts goes before other queues' heads (Off as in Kueue: they may loop)."""
    ignore_undeclared_resources: Literal["Off", "On"] = "Off"
    """Resources for which a ClusterQueue has no quota are not counted (else such jobs wait)."""


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """What is written to the hub cluster."""

    workloads: Literal["On", "Off"] = "On"
    """Every Job there has a Workload object beside it that shows its conditions, as Kueue keeps them."""
    objects: Literal["On", "Off"] = "On"
    """Queues, placements and members that came by REST are shown there, read-only."""
    jobs: Literal["On", "Off"] = "Off"
    """Jobs that came by REST are, too; label roadstead.dev/show-jobs of a Namespace there says otherwise."""
    jobs_at_most: int = 5000
    """As many Jobs of REST are shown at a time; those that have ended make room for others."""
    ended_jobs: dt.timedelta = dt.timedelta(hours=1)
    """How long a Job of REST is shown after its end."""
    records: Literal["On", "Off"] = "On"
    """Snapshots, bindings and works of placements are shown there, read-only, by KubeFleet's names."""
    records_at_most: int = 5000
    """As many records are shown, of placements as a whole; a large one counts once more per 8 KiB."""


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
    evictions: dt.timedelta = dt.timedelta(days=7)
    """Evictions of placements, those made on the hub cluster too."""
    every_s: float = 10.0
    """How often old rows are looked for, s."""
    rows_per_turn: int = 5000
    """Rows deleted in one transaction: bounds how long writers wait."""


@dataclass(frozen=True, slots=True)
class Logs:
    """Logs and pods that people read from members, through their agents."""

    per_principal: int = 20
    """Logs and pods that one principal may be reading at a time."""
    per_cluster: int = 50
    """… of one cluster, by whomever."""
    streams: int = 200
    """… of this hub process."""
    buffer_bytes: int = 128 << 10
    """What waits of one stream for who reads it; then its agent waits."""
    answer_s: float = 10.0
    """An agent that has not begun to answer after this long is not waited for, s."""
    silent_s: float = 15.0
    """A stream whose agent is not heard for this long has ended, s."""
    longest_s: float = 14400.0
    """A stream ends after this long; whoever wants more asks again, s."""


@dataclass(frozen=True, slots=True)
class Api:
    """The HTTP edge."""

    body_bytes: int = 1 << 20
    """Largest body of one request."""
    bulk_body_bytes: int = 16 << 20
    """Largest body of a batch or of several documents."""
    agent_body_bytes: int = 8 << 20
    """Largest body of an agent's request."""
    held_bytes: int = 256 << 20
    """Bodies that are being read, together; a request beyond is asked to come again."""
    bulk_document_bytes: int = 3 << 20
    """Largest document of `apply` and `plan`: what an API server reads."""
    document_values: int = 100_000
    """Values (objects, lists, texts, numbers) of one document."""
    bulk_document_values: int = 300_000
    """… and of one document of `apply` and `plan`."""
    bulk_documents: int = 20_000
    """Documents of one batch or `apply`."""
    bulk_values: int = 1_000_000
    """Values of one batch or `apply`."""
    queued_writes: int = 5_000
    """Writes that wait for the store; a request that would add one is asked to come again."""
    connections: int = 10_000
    """Open connections, streams and agents included (fewer where the process may not have so many)."""
    connections_per_address: int = 5_000
    """… from one address (of IPv6 one network); behind a proxy all have the proxy's. 0: any number."""
    header_bytes: int = 32 << 10
    """Largest header of a request."""
    url_bytes: int = 16 << 10
    """Longest path and query of a request."""
    query_parameters: int = 100
    """Parameters in the query of a request."""
    receive_s: float = 10.0
    """Within this long a header is whole, and a body too, but for a second more per 64 KiB, s."""
    send_s: float = 30.0
    """An answer of which nothing is taken for this long is cut off, a stream's too, s."""
    reads_per_s: float = 500.0
    """Questions of one principal, each second on the average; 0: any number. Agents pay for none of these."""
    reads_burst: int = 5_000
    """… and at once, after a pause."""
    writes_per_s: float = 500.0
    """Writes of one principal (a batch is one), each second on the average; 0: any number."""
    writes_burst: int = 5_000
    """… and at once, after a pause."""
    streams_per_s: float = 20.0
    """Change streams that one principal opens, each second on the average; 0: any number."""
    streams_burst: int = 1_000
    """… and at once, after a pause."""
    failures_per_s: float = 10.0
    """Requests from one address without a credential that is known, each second; 0: any number."""
    failures_burst: int = 200
    """… and at once, after a pause."""
    streams_per_principal: int = 1000
    """Change streams one principal may hold open."""
    token_cache_s: float = 5.0
    """A revoked credential ends within this long, s."""
    continue_kept: dt.timedelta = dt.timedelta(minutes=15)
    """How long a list can be continued."""
    join_token_kept: dt.timedelta = dt.timedelta(minutes=15)
    """How long a join token can be redeemed."""
    agent_credential_kept: dt.timedelta = dt.timedelta(hours=24)
    """How long an agent's credential lives; it is replaced at two thirds of that."""
    agent_credential_overlap: dt.timedelta = dt.timedelta(minutes=10)
    """A replaced credential that is used later than this after its successor was is a copy."""
    oldest_agent_protocol: int = 1
    """Agents that speak no newer protocol are refused; those of 1 have credentials without end."""
    session_kept: dt.timedelta = dt.timedelta(hours=12)
    """How long a browser stays signed in to the page."""
    session_idle: dt.timedelta = dt.timedelta(hours=4)
    """… and how long after a page of it was last opened, or something was done there."""

    @property
    def bounds(self) -> Bounds:
        """What is read of one body."""
        return Bounds(
            document_bytes=self.body_bytes,
            document_nodes=self.document_values,
            documents=self.bulk_documents,
            nodes=self.bulk_values,
        )

    @property
    def bulk_bounds(self) -> Bounds:
        """What is read of the body of `apply` and `plan`: objects as large as an API server takes them."""
        return replace(
            self.bounds,
            document_bytes=self.bulk_document_bytes,
            document_nodes=self.bulk_document_values,
        )


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificates, as files in PEM; changed files are taken within ten seconds. Flags go before these."""

    cert: str = ""
    """Certificate chain of the hub (`--tls-cert`); none: plain HTTP."""
    key: str = ""
    """Its key (`--tls-key`), not encrypted."""
    client_ca: str = ""
    """CA of agents' certificates (`--tls-client-ca`)."""
    client_certificates: Literal["Required", "Optional"] = "Required"
    """With `client_ca`: whether an agent must show a certificate, or may."""
    ca: str = ""
    """CA that join tokens pin (`--tls-ca`); none: `ca.crt` beside the chain, or a root at its end."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything an administrator may set."""

    intake: Intake = field(default_factory=Intake)
    pods: Pods = field(default_factory=Pods)
    scheduling: Scheduling = field(default_factory=Scheduling)
    queueing: Queueing = field(default_factory=Queueing)
    rollouts: Rollouts = field(default_factory=Rollouts)
    bridge: BridgeSettings = field(default_factory=BridgeSettings)
    retention: Retention = field(default_factory=Retention)
    logs: Logs = field(default_factory=Logs)
    api: Api = field(default_factory=Api)
    tls: Tls = field(default_factory=Tls)
    oidc: Oidc = field(default_factory=Oidc)
    token_reviews: TokenReviews = field(default_factory=TokenReviews)

    def __post_init__(self) -> None:
        """Intake must know which queues never preempt, and what pods may ask for."""
        declared = self.queueing.non_preemptible_queues
        object.__setattr__(self.intake, "protected_queues", declared)
        partial = self.queueing.partial_admission == "On"
        object.__setattr__(self.intake, "partial_admission", partial)
        object.__setattr__(self.intake, "pods", self.pods.rules())

"""The administrator's settings, as small frozen records by concern; services receive them as arguments.

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
    """Namespaces, as patterns, in which the hub places nothing."""
    service_accounts: str = "default"
    """Service accounts pods may run as: NAME, NAMESPACE/NAME, or * for any."""
    schedulers: str = "default-scheduler"
    """Values of schedulerName that pods may have."""
    priority_classes: str = "*"
    """Pods' priorityClassName, as patterns; system classes (system-…) must be named in full."""
    token_audiences: str = ""
    """Audiences of projected service account tokens, and signers of projected certificates."""
    fields: str = OPEN_FIELDS
    """Open: nodeName, csi, terminationGracePeriodSeconds, tolerateEverything, controlPlane, hostUsers."""

    def __post_init__(self) -> None:
        """Raises ValueError for invalid values."""
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
    """A Job without queue: provide LocalQueue `default` (Auto: until there are ClusterQueues), or reject."""
    missing_namespace_selector: Literal["Everything", "Nothing"] = "Everything"
    """Namespaces that a ClusterQueue without namespaceSelector admits (Kueue's is Nothing)."""
    unsuspendable_labels: str = "notebook-name"
    """Labels (key or key=value, by comma) of workloads or pod templates that cannot be suspended."""
    protected_queues: str = field(default="", init=False)  # as in Queueing
    partial_admission: bool = field(default=False, init=False)  # as in Queueing
    pods: podsecurity.Rules = field(default_factory=podsecurity.Rules, init=False)  # as in Pods
    idempotency_kept: dt.timedelta = dt.timedelta(hours=24)
    """How long a reply can be replayed under its Idempotency-Key."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Limits of the live cycle."""

    profile: Literal["Balance", "KubeFleet"] = "Balance"
    """Balance unless property sorters decide; or KubeFleet's arithmetic, with ranges over all members."""
    cycle_s: float = 0.5
    """Maximum length of a cycle; the next one continues from a new snapshot, s."""
    cycle_placements: int = 5000
    """Maximum placements of one cycle, which is one transaction."""
    pods_pending_timeout_s: float = 600.0
    """Placed without all pods bound for this long, on a healthy cluster: withdraw and requeue, s."""
    elastic_pending_timeout_s: float = 1800.0
    """The same if an autoscaled pool of the cluster must add nodes first, s."""
    suspect_after_s: float = SUSPECT_AFTER_S
    """A cluster silent for this long gets no new work, s; jobs not sent to it yet go elsewhere."""
    unhealthy_after_s: float = 60.0
    """API server down for this long: withdraw jobs that were offered and never observed, s."""
    silence_withdrawals_per_minute: int = 120
    """Maximum of such withdrawals a minute by a leading hub, fleet-wide; 0: no limit."""
    unreachable_after_s: float = 60.0
    """A cluster silent for this long is unreachable: its jobs are Unknown and wait, s."""


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Staged update runs whose strategy does not say it itself."""

    stuck_after_s: float = 300.0
    """A cluster whose new version is not available after this long is stuck, and has failed, s."""
    stop_after_failed: int = 0
    """Number of failed clusters that stops a run; 0: never."""


@dataclass(frozen=True, slots=True)
class Queueing:
    """How queues share: the settings of Kueue's configuration. Off means as Kueue without it."""

    fair_sharing: Literal["Off", "On"] = "Off"
    """Borrowing queues take turns by their weighted share of the cohort; preemption by share too."""
    fair_sharing_strategies: Literal[
        "LessThanOrEqualToFinalShare,LessThanInitialShare",
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    ] = "LessThanOrEqualToFinalShare,LessThanInitialShare"
    """Rules for preemption by share, in order."""
    partial_admission: Literal["Off", "On"] = "Off"
    """Jobs with annotation job-min-parallelism may start with fewer pods."""
    max_preempted_workloads: int = 0
    """Maximum workloads preempted for one job until it is placed; 0: no limit."""
    minimum_runtime_s: float = 0.0
    """A workload is not preempted before it has been admitted for this long, s."""
    victim_order: str = "LowestPriority,MostRecent"
    """Order of victims: LowestPriority, MostRecent, Smallest, LeastWorkLost."""
    non_preemptible_queues: str = ""
    """ClusterQueues, by comma, whose workloads are never preempted."""
    admission_fair_sharing: Literal["Off", "On"] = "Off"
    """LocalQueues that used less go first, if their ClusterQueue's admissionMode says so."""
    usage_half_life_s: float = 0.0
    """Half-life of recorded usage, s; 0: usage is not recorded."""
    usage_sampling_s: float = 300.0
    """How often usage is sampled, s."""
    usage_resource_weights: str = ""
    """Weight of a unit of each resource, as cpu=1,memory=0.000001; default 1."""
    pods_ready_timeout_s: float = 0.0
    """Admitted without all pods ready for this long, on a healthy cluster: evict, requeue, s; 0: never."""
    pods_ready_recovery_timeout_s: float = -1.0
    """The same after ready pods were lost, s; negative: as the timeout; 0: never."""
    block_admission: Literal["Off", "On"] = "Off"
    """Admit nothing more until all pods of admitted workloads are ready."""
    requeuing_timestamp: Literal["Eviction", "Creation"] = "Eviction"
    """Position of workloads evicted for their pods: by time of eviction, or of creation."""
    requeuing_backoff_base_s: float = 60.0
    """Backoff after the first such eviction, doubled by each further one, s."""
    requeuing_backoff_max_s: float = 3600.0
    """Maximum backoff, s."""
    requeuing_backoff_limit: int = -1
    """More such evictions than this deactivate the workload; negative: no limit."""
    preempt_for_capacity: Literal["Off", "On"] = "Off"
    """If quota fits and no cluster has room, preempt lower priorities on the cluster where it costs least."""
    preemptors_first: Literal["On", "Off"] = "On"
    """A preemptor waiting for its victims goes before other queues' heads (Off as in Kueue: may loop)."""
    ignore_undeclared_resources: Literal["Off", "On"] = "Off"
    """Ignore resources for which a ClusterQueue has no quota (else such jobs wait)."""


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """What is written to the hub cluster."""

    workloads: Literal["On", "Off"] = "On"
    """Keep a Workload object beside every Job of the hub cluster, with Kueue's conditions."""
    objects: Literal["On", "Off"] = "On"
    """Mirror queues, placements and members that came by REST to the hub cluster, read-only."""
    jobs: Literal["On", "Off"] = "Off"
    """Mirror Jobs that came by REST, too; label roadstead.dev/show-jobs of a Namespace overrides it."""
    jobs_at_most: int = 5000
    """Maximum mirrored Jobs of REST; ended ones make room for others."""
    ended_jobs: dt.timedelta = dt.timedelta(hours=1)
    """How long a Job of REST stays mirrored after its end."""
    records: Literal["On", "Off"] = "On"
    """Show snapshots, bindings and works of placements there, read-only, as KubeFleet's kinds."""
    records_at_most: int = 5000
    """Maximum shown records, of whole placements; a large one counts again per 8 KiB."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long the hub keeps rows that grow with time."""

    events: dt.timedelta = dt.timedelta(days=7)
    changes: dt.timedelta = dt.timedelta(hours=1)
    finished_jobs: dt.timedelta = dt.timedelta(days=7)
    audit: dt.timedelta = dt.timedelta(days=90)
    explanations: dt.timedelta = dt.timedelta(days=1)
    shapes: dt.timedelta = dt.timedelta(days=1)
    tokens: dt.timedelta = dt.timedelta(days=30)
    evictions: dt.timedelta = dt.timedelta(days=7)
    """Evictions of placements, including those of the hub cluster."""
    every_s: float = 10.0
    """How often the hub looks for expired rows, s."""
    rows_per_turn: int = 5000
    """Rows deleted in one transaction; limits how long writers wait."""


@dataclass(frozen=True, slots=True)
class Logs:
    """Logs and pods that people read from members, through their agents."""

    per_principal: int = 20
    """Streams of logs and pods that one principal may have open."""
    per_cluster: int = 50
    """… of one cluster."""
    streams: int = 200
    """… of this hub process."""
    buffer_bytes: int = 128 << 10
    """Buffer of one stream; if it is full, the agent waits."""
    answer_s: float = 10.0
    """How long to wait for an agent's first answer, s."""
    silent_s: float = 15.0
    """A stream ends if its agent is silent for this long, s."""
    longest_s: float = 14400.0
    """Maximum length of a stream; clients reconnect, s."""


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
    """Total of request bodies being read; further requests get 429."""
    bulk_document_bytes: int = 3 << 20
    """Largest document of `apply` and `plan`, as for an API server."""
    document_values: int = 100_000
    """Values (objects, lists, texts, numbers) of one document."""
    bulk_document_values: int = 300_000
    """… and of one document of `apply` and `plan`."""
    bulk_documents: int = 20_000
    """Documents of one batch or `apply`."""
    bulk_values: int = 1_000_000
    """Values of one batch or `apply`."""
    queued_writes: int = 5_000
    """Writes that wait for the store; further requests get 429."""
    connections: int = 10_000
    """Open connections, streams and agents included (fewer if the process's limit is lower)."""
    connections_per_address: int = 5_000
    """… from one address (for IPv6, one network); behind a proxy all have the proxy's. 0: no limit."""
    header_bytes: int = 32 << 10
    """Largest header of a request."""
    url_bytes: int = 16 << 10
    """Longest path and query of a request."""
    query_parameters: int = 100
    """Parameters in the query of a request."""
    receive_s: float = 10.0
    """Time for receiving a header, and a body (plus a second per 64 KiB), s."""
    send_s: float = 30.0
    """Cut off an answer or stream of which the client reads nothing for this long, s."""
    reads_per_s: float = 500.0
    """Reads of one principal a second on average; 0: no limit. Agents are exempt from these limits."""
    reads_burst: int = 5_000
    """… and in a burst, after a pause."""
    writes_per_s: float = 500.0
    """Writes of one principal (a batch is one) a second on average; 0: no limit."""
    writes_burst: int = 5_000
    """… and in a burst, after a pause."""
    streams_per_s: float = 20.0
    """Change streams that one principal opens a second on average; 0: no limit."""
    streams_burst: int = 1_000
    """… and in a burst, after a pause."""
    failures_per_s: float = 10.0
    """Requests from one address without a known credential a second; 0: no limit."""
    failures_burst: int = 200
    """… and in a burst, after a pause."""
    streams_per_principal: int = 1000
    """Change streams one principal may hold open."""
    token_cache_s: float = 5.0
    """Longest time until a revoked credential is rejected everywhere, s."""
    continue_kept: dt.timedelta = dt.timedelta(minutes=15)
    """Validity of a list's `continue`."""
    join_token_kept: dt.timedelta = dt.timedelta(minutes=15)
    """Validity of a join token."""
    agent_credential_kept: dt.timedelta = dt.timedelta(hours=24)
    """Lifetime of an agent's credential; replaced at two thirds of that."""
    agent_credential_overlap: dt.timedelta = dt.timedelta(minutes=10)
    """A replaced credential used later than this after its successor counts as a copy."""
    oldest_agent_protocol: int = 1
    """Oldest accepted agent protocol; agents of protocol 1 have credentials that do not expire."""
    session_kept: dt.timedelta = dt.timedelta(hours=12)
    """How long a browser stays signed in to the page."""
    session_idle: dt.timedelta = dt.timedelta(hours=4)
    """… and how long after the last opened page or action."""

    @property
    def bounds(self) -> Bounds:
        """Limits on reading one body."""
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
    """With `client_ca`: whether agents must present a certificate, or may."""
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

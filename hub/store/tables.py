"""The tables, as SQLAlchemy Core: the truth of the hub. The same statements run on SQLite and PostgreSQL.

Times are UTC (`Utc`), amounts exact integers, JSON only for what is never searched. A row of a
narrow, hot table (`workloads`, `works`) carries state; what a user sent lies once in `manifests` or
`objects`. Growing tables have an index on their age, by which `hub.services.jobs.retention` trims them.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import TEXT

from hub.store.columns import JsonColumn, OptionsColumn, SealedColumn, SealedJsonColumn, Utc
from hub.store.metadata import NUMBER, metadata
from hub.store.tables_of_kinds import kind_versions
from hub.store.tables_of_people import audit, idempotency, principals, role_bindings, tokens

__all__ = [
    "audit", "idempotency", "kind_versions", "metadata", "principals", "role_bindings", "tokens",
]  # fmt: skip

# One value each: hub_id, incarnation, hub_cluster_uid, pool_keys …
settings = Table(
    "settings",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", JsonColumn, nullable=False),
)

# Leadership: `term` grows with every change of holder and is checked inside controller transactions.
leases = Table(
    "leases",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("holder", String(128), nullable=False),
    Column("term", BigInteger, nullable=False),
    Column("expires_at", Utc, nullable=False),
)

# A manifest of any kind the hub knows, except Jobs (see workloads).
objects = Table(
    "objects",
    metadata,
    Column("uid", String(64), primary_key=True),
    Column("api_group", String(253), nullable=False),
    Column("api_version", String(253), nullable=False),  # as received: group/version
    Column("kind", String(63), nullable=False),
    Column("namespace", String(63), nullable=False),  # "" for cluster-scoped
    Column("name", String(253), nullable=False),
    Column("origin", String(16), nullable=False),  # rest | hub-cluster | hub | any (Namespaces)
    Column("generation", BigInteger, nullable=False),
    Column("labels", JsonColumn, nullable=False),
    Column("annotations", SealedJsonColumn("objects.annotations"), nullable=False),
    Column("spec", JsonColumn),  # typed kinds: normalised to one internal shape; others: null
    Column("manifest", SealedJsonColumn("objects.manifest"), nullable=False),  # as received
    Column("hash", String(64), nullable=False),  # of the manifest
    Column("status", JsonColumn),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("deleted_at", Utc),  # being deleted: its effects are being withdrawn
    Column(
        "hub_cluster_uid", String(64)
    ),  # Namespaces: which one of the hub cluster it is, once seen
    UniqueConstraint("api_group", "kind", "namespace", "name"),
    Index("ix_objects_kind", "kind", "namespace"),
)

# Immutable: what a user sent as a Job, one row per generation.
manifests = Table(
    "manifests",
    metadata,
    Column("uid", String(64), primary_key=True),
    Column("generation", BigInteger, primary_key=True),
    Column("manifest", SealedColumn("manifests.manifest"), nullable=False),  # JSON bytes
    Column("hash", String(64), nullable=False),
    # Of a kind that is no Job: how it is written into a member (`hub.domain.workloads.work_form`)
    Column("form", JsonColumn),
)
# Pod sets shared by equal jobs: scored once per class.
shapes = Table(
    "shapes",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("pod_sets", JsonColumn, nullable=False),
    Column("created_at", Utc, nullable=False),
)
# Admitted, and not for ever.
_LIMITED = text("max_runtime_s IS NOT NULL AND placed_at IS NOT NULL AND finished_at IS NULL")
# Narrow and hot: one unit of admission.
workloads = Table(
    "workloads",
    metadata,
    Column("uid", String(64), primary_key=True),
    Column("kind", String(63), nullable=False, default="Job"),
    Column("namespace", String(63), nullable=False),
    Column("name", String(253), nullable=False),
    Column("live", Boolean, nullable=True),  # true while it occupies its name, else null
    Column("origin", String(16), nullable=False),
    Column("labels", JsonColumn, nullable=False),
    Column(
        "annotations", JsonColumn, nullable=False
    ),  # those the hub reads: roadstead.dev/, kueue
    Column("queue", String(253), nullable=False),  # LocalQueue; "" when none resolved
    Column("priority", BigInteger, nullable=False),
    Column("priority_class", String(253), nullable=False),
    Column("shape", String(64), nullable=False),
    Column("parallelism", NUMBER, nullable=False),
    Column("completions", NUMBER),  # null: a work queue
    Column("ttl_s", NUMBER),  # ttlSecondsAfterFinished; null: kept until retention takes it
    Column("generation", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", String(64), nullable=False),
    Column("message", Text, nullable=False),
    Column("cluster_queue", String(253), nullable=False),  # charged; "" before admission
    Column("admission", JsonColumn),  # {"podSets": [{name, count, flavors, usage}]}
    Column("placement", String(64), nullable=False),  # uid of the placement that chose; "" = queue
    Column("scores", JsonColumn),  # of the decision: chosen and rejected clusters, with reasons
    Column("cluster", String(63), nullable=False),
    Column("epoch", NUMBER, nullable=False),
    # {cluster, at, admission}: waits for those it displaces, with a claim to a cluster's room
    Column("nomination", JsonColumn),
    Column(
        "checks", JsonColumn
    ),  # states of admission checks: {name: {state, message, at, updates}}
    Column("withdraw_to", String(16), nullable=False),  # Pending | Held | Failed | …
    Column("set_aside", JsonColumn),  # clusters to avoid: {name: until RFC3339}
    Column("succeeded", NUMBER, nullable=False),
    Column("failed", NUMBER, nullable=False),  # over all epochs
    Column("active", NUMBER, nullable=False),
    Column("ready", NUMBER, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("queued_at", Utc, nullable=False),  # queue-order timestamp
    Column("requeue_at", Utc),  # not considered before: its back-off
    Column(
        "requeues", NUMBER, nullable=False, default=0, server_default="0"
    ),  # evictions that count for it
    Column("evicted", JsonColumn),  # the last eviction: {reason, message, at}
    Column("evictions", JsonColumn),  # how many of each reason so far: {reason: count}
    Column("max_runtime_s", NUMBER),  # over all epochs; then it is deactivated
    Column(
        "ran_s", NUMBER, nullable=False, default=0, server_default="0"
    ),  # in epochs that have ended
    Column("new_nodes", NUMBER),  # that pools of its cluster must add first; null: none
    Column("reserved_at", Utc),  # when quota was reserved for this epoch
    Column("pods_ready_at", Utc),  # when all pods of this epoch were ready first
    Column("pods_lost_at", Utc),  # since when, after that, one of them is not
    Column("placed_at", Utc),
    Column("applied_at", Utc),
    Column("started_at", Utc),  # of the present epoch; of the last one, once it has ended
    Column("finished_at", Utc),
    Column("deleted_at", Utc),
    Column(
        "owner", String(253), nullable=False, default="", server_default=""
    ),  # who submitted it; "": unknown
    Column(
        "unstarted", NUMBER, nullable=False, default=0, server_default="0"
    ),  # epochs that never started; hubs of the releases before leave them out of `retry`
    Column(
        "retries", NUMBER, nullable=False, default=0, server_default="0"
    ),  # epochs that failed and were tried again
    Column(
        "retry_epoch", NUMBER, nullable=False, default=0, server_default="0"
    ),  # the last of them; 0: none
    Column(
        "held_for", String(16), nullable=False, default="", server_default=""
    ),  # who keeps it Held; "": set by a hub of the releases before, or not held
    Column("ran_from", Utc),  # by its member's clock, as `ran_until`: shown, orders nothing
    Column("ran_until", Utc),
    Column(
        "api_version",
        String(253),
        nullable=False,
        default="batch/v1",
        server_default="batch/v1",
    ),  # with which it came
    Column(
        "kind_version", String(280), nullable=False, default="", server_default=""
    ),  # of an administrator's definition, NAME@VERSION: it is read by that one to its end
    UniqueConstraint("namespace", "name", "kind", "live"),
    Index("ix_workloads_owner", "owner", "created_at", "uid"),
    Index("ix_workloads_state", "state"),
    Index("ix_workloads_created_at", "created_at", "uid"),
    Index(
        "ix_workloads_max_runtime_s",
        "max_runtime_s",
        sqlite_where=_LIMITED,
        postgresql_where=_LIMITED,
    ),
    Index(
        "ix_workloads_finished_at",
        "finished_at",
        sqlite_where=text("finished_at IS NOT NULL"),
        postgresql_where=text("finished_at IS NOT NULL"),
    ),
)
# Which jobs a job waits for, as it was accepted: bound to their uids, decided once each.
_OPEN = text("state = 'Waiting'")
dependencies = Table(
    "dependencies",
    metadata,
    Column("uid", String(64), primary_key=True),  # of the job that waits
    Column("on_name", String(253), primary_key=True),
    Column("namespace", String(63), nullable=False),  # of both
    Column("wanted", String(8), nullable=False),  # ok | any | fail
    Column("on_uid", String(64), nullable=False),  # "": no job of that name has come yet
    Column("state", String(16), nullable=False),  # Waiting | Satisfied | NeverSatisfied | Waived
    Column("ended", String(16), nullable=False),  # how the other had ended then; "": it had not
    Column("until", Utc),  # deadline for a job of that name
    Column("decided_at", Utc),
    Index("ix_dependencies_on_uid", "on_uid"),
    Index(
        "ix_dependencies_open",
        "on_uid",
        "namespace",
        "on_name",
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    ),
)
# Their number, so that no query counts a million rows: kept by triggers (hub.store.tallies).
tallies = Table(
    "tallies",
    metadata,
    Column("namespace", String(63), primary_key=True),
    Column("queue", String(253), primary_key=True),
    Column("state", String(32), primary_key=True),
    Column("shown", Boolean, primary_key=True),  # not deleted, or not gone from its cluster yet
    Column("number", BigInteger, nullable=False),
)
# Why equal jobs of one queue wait: per class, written when it changes.
explanations = Table(
    "explanations",
    metadata,
    Column("key", String(200), primary_key=True),  # <cluster queue>/<shape>/<constraints hash>
    Column("explanation", JsonColumn, nullable=False),
    Column("at", Utc, nullable=False, index=True),
)

# Members: what an administrator declared and how the agent's session stands …
clusters = Table(
    "clusters",
    metadata,
    Column("name", String(63), primary_key=True),
    Column("object", String(64), nullable=False),  # uid of its MemberCluster object
    Column("cluster_uid", String(253), nullable=False),  # of kube-system; "" before it joined
    Column("labels", JsonColumn, nullable=False),
    Column("taints", JsonColumn, nullable=False),
    Column(
        "pools", JsonColumn
    ),  # autoscaled ones, as declared: [{name, maxNodes, labels, taints, …}]
    Column("cordoned", Boolean, nullable=False),
    Column("session", String(64), nullable=False),
    Column("session_at", Utc),
    # the newest request of that session whose report is in the store
    Column("session_seq", BigInteger, nullable=False, default=0, server_default="0"),
    Column("retired_sessions", JsonColumn),  # ids that were superseded and never come back
    Column("joined_at", Utc),
    Column("heartbeat_at", Utc),
    Column("created_at", Utc, nullable=False),
    Column("agent", JsonColumn),  # what its agent is, as of its session: services.members.terms
)
# … and what it last reported, whole, replaced with each report.
capacities = Table(
    "capacities",
    metadata,
    Column("cluster", String(63), primary_key=True),
    Column("capacity", LargeBinary, nullable=False),  # shared.wire.agent_v1.Capacity as JSON
    Column("at", Utc, nullable=False),
    Column(
        "down", JsonColumn
    ),  # its API server does not answer or refuses its agent: {reason, since, cause}
)

# What one cluster should hold, and what its agent said of it.
works = Table(
    "works",
    metadata,
    Column("cluster", String(63), primary_key=True),
    Column("uid", String(64), primary_key=True),  # of the job or the object
    Column("epoch", NUMBER, nullable=False),  # jobs ≥ 1, objects 0
    Column("generation", BigInteger, nullable=False),
    Column("api_version", String(253), nullable=False),
    Column("kind", String(63), nullable=False),
    Column("namespace", String(63), nullable=False),
    Column("name", String(253), nullable=False),
    Column("action", String(16), nullable=False),  # Apply | Keep | Withdraw | Compare
    Column("hash", String(64), nullable=False),
    Column("options", OptionsColumn, nullable=False),
    Column("placed_by", String(64), nullable=False),  # uid of the placement; "" = the job's queue
    Column("offered", Boolean, nullable=False),
    Column("seen", Boolean, nullable=False),
    Column("phase", String(16), nullable=False),  # as observed for this epoch; "" before
    Column("observed_generation", BigInteger, nullable=False),
    Column("observed", JsonColumn),  # the last Observed entry, without drift
    Column("drift", JsonColumn),  # list of Drift; null = none
    Column("reason", String(64), nullable=False),
    Column("message", Text, nullable=False),
    Column("available", Boolean),  # null: not trackable
    Column("observed_at", Utc),
    Column("created_at", Utc, nullable=False),
    # hash of what it is composed from, in `contents`; "": from the job's manifest
    Column("content", String(64), nullable=False, default="", server_default=""),
    Index("ix_works_uid", "uid"),
    Index("ix_works_placed_by", "placed_by"),
)
# A placement's decision for one cluster.
bindings = Table(
    "bindings",
    metadata,
    Column("placement", String(64), primary_key=True),  # uid
    Column("cluster", String(63), primary_key=True),
    Column("selected", Boolean, nullable=False),
    Column("affinity_score", NUMBER, nullable=False),
    Column("topology_score", NUMBER, nullable=False),
    Column("reason", String(64), nullable=False),
    Column("message", Text, nullable=False),
    Column("policy_snapshot", String(64), nullable=False),
    Column(
        "resource_snapshot", String(64), nullable=False
    ),  # index of what was given; "": nothing
    Column("bound_at", Utc, nullable=False),
    Column("overrides", JsonColumn),  # of what was given: [{kind, namespace, name, uid, index}]
    Column("settled_at", Utc),  # since when all of that is there and nothing is not available
)
# Immutable, hashed revisions of what a placement selects and how.
snapshots = Table(
    "snapshots",
    metadata,
    Column("placement", String(64), primary_key=True),
    Column("part", String(16), primary_key=True),  # policy | resources | override (its own uid)
    Column("index", NUMBER, primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("content", JsonColumn, nullable=False),
    Column("created_at", Utc, nullable=False),
)

# What placements give to clusters, by its hash: of objects as they were, and what overrides made of them.
contents = Table(
    "contents",
    metadata,
    Column("placement", String(64), primary_key=True),  # uid
    Column("hash", String(64), primary_key=True),
    Column("manifest", SealedJsonColumn("contents.manifest"), nullable=False),
    Column("created_at", Utc, nullable=False),
)

# What LocalQueues consumed, with a half-life: Admission Fair Sharing.
usage = Table(
    "usage",
    metadata,
    Column("namespace", String(63), primary_key=True),
    Column("queue", String(253), primary_key=True),
    Column("consumed", JsonColumn, nullable=False),  # {resource: amount}
    Column("at", Utc, nullable=False),  # when it was last brought up to date
)

events = Table(
    "events",
    metadata,
    Column("id", NUMBER, primary_key=True, autoincrement=True),
    Column("at", Utc, nullable=False, index=True),
    Column("uid", String(64), nullable=False, index=True),  # of what it is about
    Column("kind", String(63), nullable=False),
    Column("namespace", String(63), nullable=False),
    Column("name", String(253), nullable=False),
    Column("type", String(16), nullable=False),  # Normal | Warning
    Column("reason", String(64), nullable=False),
    Column("message", Text, nullable=False),
    Column("cluster", String(63), nullable=False, default="", server_default=""),  # the member
    Column("epoch", NUMBER, nullable=False, default=0, server_default="0"),  # of a job; 0: of none
    Column("cause", String(64), nullable=False, default="", server_default=""),  # a reason's code
    Column("subject", String(253), nullable=False, default="", server_default=""),  # a pod, a path
    Column("member_at", Utc),  # when it happened, by the member's clock
)

# Committed order without holes; one row per transaction and kind; older cursors get 410.
changes = Table(
    "changes",
    metadata,
    Column("revision", NUMBER, primary_key=True, autoincrement=False),
    Column("kind", String(32), primary_key=True),  # workloads | objects | clusters | works | …
    Column("keys", JsonColumn, nullable=False),  # list of primary keys touched
    Column("at", Utc, nullable=False, index=True),
)

# PostgreSQL: texts without a limit, as SQLite keeps them (what may come in is bounded where it comes in),
# and in the order of their bytes, whatever the database's own.
for _table in metadata.tables.values():
    for _column in _table.columns:
        if isinstance(_column.type, String):
            _column.type = _column.type.with_variant(TEXT(collation="C"), "postgresql")

"""The tables as of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_baseline"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    op.create_table(
        "audit",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("principal", sa.String(length=253), nullable=False),
        sa.Column("verb", sa.String(length=32), nullable=False),
        sa.Column("object", sa.String(length=600), nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"], unique=False)
    op.create_table(
        "bindings",
        sa.Column("placement", sa.String(length=64), nullable=False),
        sa.Column("cluster", sa.String(length=63), nullable=False),
        sa.Column("selected", sa.Boolean(), nullable=False),
        sa.Column("affinity_score", sa.Integer(), nullable=False),
        sa.Column("topology_score", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("policy_snapshot", sa.String(length=64), nullable=False),
        sa.Column("resource_snapshot", sa.String(length=64), nullable=False),
        sa.Column("bound_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("placement", "cluster", name=op.f("pk_bindings")),
    )
    op.create_table(
        "capacities",
        sa.Column("cluster", sa.String(length=63), nullable=False),
        sa.Column("capacity", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("cluster", name=op.f("pk_capacities")),
    )
    op.create_table(
        "changes",
        sa.Column(
            "revision",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("keys", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("revision", "kind", name=op.f("pk_changes")),
    )
    op.create_index(op.f("ix_changes_at"), "changes", ["at"], unique=False)
    op.create_table(
        "clusters",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("object", sa.String(length=64), nullable=False),
        sa.Column("cluster_uid", sa.String(length=253), nullable=False),
        sa.Column("labels", sa.LargeBinary(), nullable=False),
        sa.Column("taints", sa.LargeBinary(), nullable=False),
        sa.Column("cordoned", sa.Boolean(), nullable=False),
        sa.Column("session", sa.String(length=64), nullable=False),
        sa.Column("session_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("retired_sessions", sa.LargeBinary(), nullable=True),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_clusters")),
    )
    op.create_table(
        "events",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("uid", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=63), nullable=False),
        sa.Column("namespace", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=253), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_at"), "events", ["at"], unique=False)
    op.create_index(op.f("ix_events_uid"), "events", ["uid"], unique=False)
    op.create_table(
        "explanations",
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("explanation", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_explanations")),
    )
    op.create_index(op.f("ix_explanations_at"), "explanations", ["at"], unique=False)
    op.create_table(
        "idempotency",
        sa.Column("principal", sa.String(length=36), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("principal", "key", name=op.f("pk_idempotency")),
    )
    op.create_index(op.f("ix_idempotency_created_at"), "idempotency", ["created_at"], unique=False)
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("holder", sa.String(length=128), nullable=False),
        sa.Column("term", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "manifests",
        sa.Column("uid", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("manifest", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("uid", "generation", name=op.f("pk_manifests")),
    )
    op.create_table(
        "objects",
        sa.Column("uid", sa.String(length=64), nullable=False),
        sa.Column("api_group", sa.String(length=253), nullable=False),
        sa.Column("api_version", sa.String(length=253), nullable=False),
        sa.Column("kind", sa.String(length=63), nullable=False),
        sa.Column("namespace", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=253), nullable=False),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("labels", sa.LargeBinary(), nullable=False),
        sa.Column("annotations", sa.LargeBinary(), nullable=False),
        sa.Column("spec", sa.LargeBinary(), nullable=True),
        sa.Column("manifest", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_objects")),
        sa.UniqueConstraint(
            "api_group",
            "kind",
            "namespace",
            "name",
            name=op.f("uq_objects_api_group_kind_namespace_name"),
        ),
    )
    op.create_index("ix_objects_kind", "objects", ["kind", "namespace"], unique=False)
    op.create_table(
        "principals",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=253), nullable=False),
        sa.Column("cluster", sa.String(length=63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_principals")),
        sa.UniqueConstraint("role", "name", name=op.f("uq_principals_role_name")),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_settings")),
    )
    op.create_table(
        "shapes",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("pod_sets", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_shapes")),
    )
    op.create_table(
        "snapshots",
        sa.Column("placement", sa.String(length=64), nullable=False),
        sa.Column("part", sa.String(length=16), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("placement", "part", "index", name=op.f("pk_snapshots")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("principal", sa.String(length=36), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_index(op.f("ix_tokens_principal"), "tokens", ["principal"], unique=False)
    op.create_table(
        "workloads",
        sa.Column("uid", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=63), nullable=False),
        sa.Column("namespace", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=253), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=True),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("labels", sa.LargeBinary(), nullable=False),
        sa.Column("annotations", sa.LargeBinary(), nullable=False),
        sa.Column("queue", sa.String(length=253), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("priority_class", sa.String(length=253), nullable=False),
        sa.Column("shape", sa.String(length=64), nullable=False),
        sa.Column("parallelism", sa.Integer(), nullable=False),
        sa.Column("completions", sa.Integer(), nullable=True),
        sa.Column("ttl_s", sa.Integer(), nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("cluster_queue", sa.String(length=253), nullable=False),
        sa.Column("admission", sa.LargeBinary(), nullable=True),
        sa.Column("placement", sa.String(length=64), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=True),
        sa.Column("cluster", sa.String(length=63), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("withdraw_to", sa.String(length=16), nullable=False),
        sa.Column("set_aside", sa.LargeBinary(), nullable=True),
        sa.Column("succeeded", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("active", sa.Integer(), nullable=False),
        sa.Column("ready", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("placed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("applied_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_workloads")),
        sa.UniqueConstraint(
            "namespace", "name", "live", name=op.f("uq_workloads_namespace_name_live")
        ),
    )
    op.create_index("ix_workloads_created_at", "workloads", ["created_at", "uid"], unique=False)
    op.create_index(
        "ix_workloads_finished_at",
        "workloads",
        ["finished_at"],
        unique=False,
        sqlite_where=sa.text("finished_at IS NOT NULL"),
        postgresql_where=sa.text("finished_at IS NOT NULL"),
    )
    op.create_index("ix_workloads_state", "workloads", ["state"], unique=False)
    op.create_table(
        "works",
        sa.Column("cluster", sa.String(length=63), nullable=False),
        sa.Column("uid", sa.String(length=64), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("api_version", sa.String(length=253), nullable=False),
        sa.Column("kind", sa.String(length=63), nullable=False),
        sa.Column("namespace", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=253), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("options", sa.LargeBinary(), nullable=False),
        sa.Column("placed_by", sa.String(length=64), nullable=False),
        sa.Column("offered", sa.Boolean(), nullable=False),
        sa.Column("seen", sa.Boolean(), nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("observed_generation", sa.BigInteger(), nullable=False),
        sa.Column("observed", sa.LargeBinary(), nullable=True),
        sa.Column("drift", sa.LargeBinary(), nullable=True),
        sa.Column("reason", sa.String(length=64), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("available", sa.Boolean(), nullable=True),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("cluster", "uid", name=op.f("pk_works")),
    )
    op.create_index("ix_works_placed_by", "works", ["placed_by"], unique=False)
    op.create_index("ix_works_uid", "works", ["uid"], unique=False)


def downgrade() -> None:
    """Go back to the one before."""
    op.drop_index("ix_works_uid", table_name="works")
    op.drop_index("ix_works_placed_by", table_name="works")
    op.drop_table("works")
    op.drop_index("ix_workloads_state", table_name="workloads")
    op.drop_index(
        "ix_workloads_finished_at",
        table_name="workloads",
        sqlite_where=sa.text("finished_at IS NOT NULL"),
        postgresql_where=sa.text("finished_at IS NOT NULL"),
    )
    op.drop_index("ix_workloads_created_at", table_name="workloads")
    op.drop_table("workloads")
    op.drop_index(op.f("ix_tokens_principal"), table_name="tokens")
    op.drop_table("tokens")
    op.drop_table("snapshots")
    op.drop_table("shapes")
    op.drop_table("settings")
    op.drop_table("principals")
    op.drop_index("ix_objects_kind", table_name="objects")
    op.drop_table("objects")
    op.drop_table("manifests")
    op.drop_table("leases")
    op.drop_index(op.f("ix_idempotency_created_at"), table_name="idempotency")
    op.drop_table("idempotency")
    op.drop_index(op.f("ix_explanations_at"), table_name="explanations")
    op.drop_table("explanations")
    op.drop_index(op.f("ix_events_uid"), table_name="events")
    op.drop_index(op.f("ix_events_at"), table_name="events")
    op.drop_table("events")
    op.drop_table("clusters")
    op.drop_index(op.f("ix_changes_at"), table_name="changes")
    op.drop_table("changes")
    op.drop_table("capacities")
    op.drop_table("bindings")
    op.drop_index(op.f("ix_audit_at"), table_name="audit")
    op.drop_table("audit")

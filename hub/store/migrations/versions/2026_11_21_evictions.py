"""Workloads keep evictions, back-off and run time, one name per kind; LocalQueues what they consumed."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_evictions"
down_revision = "2026_11_21_queueing"
branch_labels = None
depends_on = None
_NAME = "uq_workloads_namespace_name_live"
_NAME_AND_KIND = "uq_workloads_namespace_name_kind_live"


def _columns() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("requeue_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("requeues", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("evicted", sa.LargeBinary(), nullable=True),
        sa.Column("evictions", sa.LargeBinary(), nullable=True),
        sa.Column("max_runtime_s", sa.Integer(), nullable=True),
        sa.Column("ran_s", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("new_nodes", sa.Integer(), nullable=True),
        sa.Column("reserved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pods_ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pods_lost_at", sa.DateTime(timezone=True), nullable=True),
    )


def upgrade() -> None:
    """Go to this revision."""
    with op.batch_alter_table("workloads") as table:
        for column in _columns():
            table.add_column(column)
        table.drop_constraint(op.f(_NAME), type_="unique")
        table.create_unique_constraint(op.f(_NAME_AND_KIND), ["namespace", "name", "kind", "live"])
    running = sa.text(
        "max_runtime_s IS NOT NULL AND placed_at IS NOT NULL AND finished_at IS NULL"
    )
    op.create_index(
        op.f("ix_workloads_max_runtime_s"), "workloads", ["max_runtime_s"],
        sqlite_where=running, postgresql_where=running,
    )  # fmt: skip
    with op.batch_alter_table("clusters") as table:
        table.add_column(sa.Column("pools", sa.LargeBinary(), nullable=True))
    op.create_table(
        "usage",
        sa.Column("namespace", sa.String(63), nullable=False),
        sa.Column("queue", sa.String(253), nullable=False),
        sa.Column("consumed", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "queue", name=op.f("pk_usage")),
    )


def downgrade() -> None:
    """Go back to the revision before."""
    op.drop_table("usage")
    with op.batch_alter_table("clusters") as table:
        table.drop_column("pools")
    op.drop_index(op.f("ix_workloads_max_runtime_s"), table_name="workloads")
    with op.batch_alter_table("workloads") as table:
        table.drop_constraint(op.f(_NAME_AND_KIND), type_="unique")
        table.create_unique_constraint(op.f(_NAME), ["namespace", "name", "live"])
        for column in reversed(_columns()):
            table.drop_column(column.name)

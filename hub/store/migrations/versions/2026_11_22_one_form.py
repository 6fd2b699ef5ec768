"""What the revision before came to hold in several steps, whichever of them a database was made with.

It was added to while it was in use: a database may carry its name and lack run-time limits' index,
autoscaled pools, times of readiness, or names by kind. From here on all have one form.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_one_form"
down_revision = "2026_11_21_evictions"
branch_labels = None
depends_on = None
_NAME = "uq_workloads_namespace_name_live"
_NAME_AND_KIND = "uq_workloads_namespace_name_kind_live"
_LIMITED = "ix_workloads_max_runtime_s"


def _columns() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("new_nodes", sa.Integer(), nullable=True),
        sa.Column("pods_ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pods_lost_at", sa.DateTime(timezone=True), nullable=True),
    )


def upgrade() -> None:
    """Go to this revision."""
    seen = sa.inspect(op.get_bind())
    has = {column["name"] for column in seen.get_columns("workloads")}
    if _LIMITED in {index["name"] for index in seen.get_indexes("workloads")}:
        op.drop_index(op.f(_LIMITED), table_name="workloads")
    lacking = [column for column in _columns() if column.name not in has]
    unique = {each["name"] for each in seen.get_unique_constraints("workloads")}
    if lacking or _NAME in unique:
        with op.batch_alter_table("workloads") as table:
            for column in lacking:
                table.add_column(column)
            if _NAME in unique:
                table.drop_constraint(op.f(_NAME), type_="unique")
                table.create_unique_constraint(
                    op.f(_NAME_AND_KIND), ["namespace", "name", "kind", "live"]
                )
    running = sa.text(
        "max_runtime_s IS NOT NULL AND placed_at IS NOT NULL AND finished_at IS NULL"
    )
    op.create_index(
        op.f(_LIMITED), "workloads", ["max_runtime_s"],
        sqlite_where=running, postgresql_where=running,
    )  # fmt: skip
    if "pools" not in {column["name"] for column in seen.get_columns("clusters")}:
        with op.batch_alter_table("clusters") as table:
            table.add_column(sa.Column("pools", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Nothing to undo: the revision before has this form too."""

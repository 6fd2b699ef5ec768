"""Work of kinds that are no Jobs: with which version it came, and how it is written into a member."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_30_kinds"
down_revision = "2026_11_30_facts"
branch_labels = None
depends_on = None

_JOBS = "SELECT count(*) FROM workloads WHERE kind NOT IN ('Job', 'Workload') AND live IS NOT NULL"
_WORKS = "SELECT count(*) FROM works WHERE kind <> 'Job' AND epoch > 0"


def upgrade() -> None:
    """Go to this revision."""
    postgres = op.get_bind().dialect.name == "postgresql"
    version: sa.types.TypeEngine[str] = TEXT(collation="C") if postgres else sa.String(length=253)
    with op.batch_alter_table("workloads") as table:
        table.add_column(
            sa.Column("api_version", version, nullable=False, server_default="batch/v1")
        )
    op.execute(
        "UPDATE workloads SET api_version = 'kueue.x-k8s.io/v1beta2' WHERE kind = 'Workload'"
    )
    with op.batch_alter_table("manifests") as table:
        table.add_column(sa.Column("form", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Go back to the revision before. Raises ValueError while jobs of other kinds than Job are there.

    The older release would take each for a Job, and neither start nor stop it.
    """
    conn = op.get_bind()
    jobs = conn.execute(sa.text(_JOBS)).scalar_one()
    works = conn.execute(sa.text(_WORKS)).scalar_one()
    if found := max(jobs, works):
        raise ValueError(f"{found} jobs are of other kinds than Job: delete them first")
    with op.batch_alter_table("manifests") as table:
        table.drop_column("form")
    with op.batch_alter_table("workloads") as table:
        table.drop_column("api_version")

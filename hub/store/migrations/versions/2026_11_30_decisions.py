"""Jobs keep decisions in columns: which failed epoch is tried again, how often one was, and who holds a job.

Attempts so far count as they did before: every epoch that may have started.
"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_30_decisions"
down_revision = "2026_11_29_unstarted"
branch_labels = None
depends_on = None

_ATTEMPTS = 100_000
_RETRIED = "state = 'Withdrawing' AND reason = 'Retrying'"
_GOING = "state IN ('Placed', 'Offered', 'Applied', 'Running', 'Unknown', 'Withdrawing')"
_OPEN = "state NOT IN ('Succeeded', 'Failed', 'Cancelled')"


def upgrade() -> None:
    """Go to this revision."""
    number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
    with op.batch_alter_table("workloads") as table:
        table.add_column(sa.Column("retries", number, nullable=False, server_default="0"))
        table.add_column(sa.Column("retry_epoch", number, nullable=False, server_default="0"))
        table.add_column(
            sa.Column("held_for", sa.String(16), nullable=False, server_default="")
        )
    before = f"epoch % {_ATTEMPTS} - unstarted"
    now = f"CASE WHEN {_GOING} AND NOT ({_RETRIED}) THEN 1 ELSE 0 END"
    op.execute(
        f"UPDATE workloads SET retries = {before} - {now} WHERE {_OPEN} AND {before} > {now}"
    )
    op.execute(f"UPDATE workloads SET retry_epoch = epoch WHERE {_RETRIED}")
    op.execute(
        "UPDATE workloads SET held_for = 'Jobs' WHERE state = 'Held' "
        "AND reason IN ('WaitsForJobs', 'DependencyNeverSatisfied')"
    )


def downgrade() -> None:
    """Go back to the revision before: reasons tell again what is tried again, and for whom a job is held."""
    with op.batch_alter_table("workloads") as table:
        table.drop_column("held_for")
        table.drop_column("retry_epoch")
        table.drop_column("retries")

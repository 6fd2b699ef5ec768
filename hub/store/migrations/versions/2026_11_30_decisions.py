"""Jobs keep decisions in columns: which failed epoch is tried again, how often one was, and who holds a job.

Attempts so far count as they did before: every epoch that may have started.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_30_decisions"
down_revision = "2026_11_29_unstarted"
branch_labels = None
depends_on = None

# Every epoch before the present one counts as a retry, save those that never started.
_RETRIES = """
    UPDATE workloads SET retries = epoch % 100000 - unstarted
    WHERE state NOT IN ('Succeeded', 'Failed', 'Cancelled') AND epoch % 100000 > unstarted
"""
_UNDER_WAY = """
    UPDATE workloads SET retries = retries - 1
    WHERE retries > 0 AND NOT (state = 'Withdrawing' AND reason = 'Retrying')
    AND state IN ('Placed', 'Offered', 'Applied', 'Running', 'Unknown', 'Withdrawing')
"""
_RETRIED = """
    UPDATE workloads SET retry_epoch = epoch WHERE state = 'Withdrawing' AND reason = 'Retrying'
"""
_HELD_FOR_JOBS = """
    UPDATE workloads SET held_for = 'Jobs'
    WHERE state = 'Held' AND reason IN ('WaitsForJobs', 'DependencyNeverSatisfied')
"""


def upgrade() -> None:
    """Go to this revision."""
    number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
    postgres = op.get_bind().dialect.name == "postgresql"
    word: sa.types.TypeEngine[str] = TEXT(collation="C") if postgres else sa.String(length=16)
    with op.batch_alter_table("workloads") as table:
        table.add_column(sa.Column("retries", number, nullable=False, server_default="0"))
        table.add_column(sa.Column("retry_epoch", number, nullable=False, server_default="0"))
        table.add_column(sa.Column("held_for", word, nullable=False, server_default=""))
    for statement in (_RETRIES, _UNDER_WAY, _RETRIED, _HELD_FOR_JOBS):
        op.execute(statement)


def downgrade() -> None:
    """Go back to the revision before: reasons tell again what is tried again, and for whom a job is held."""
    with op.batch_alter_table("workloads") as table:
        table.drop_column("held_for")
        table.drop_column("retry_epoch")
        table.drop_column("retries")

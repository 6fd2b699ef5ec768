"""Jobs count their epochs that never started: those are no attempts of `roadstead.dev/retry`."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_unstarted"
down_revision = "2026_11_29_namespaces"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
    with op.batch_alter_table("workloads") as table:
        table.add_column(sa.Column("unstarted", number, nullable=False, server_default="0"))


def downgrade() -> None:
    """Go back to the revision before: every epoch counts as an attempt again."""
    with op.batch_alter_table("workloads") as table:
        table.drop_column("unstarted")

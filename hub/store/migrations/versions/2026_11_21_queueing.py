"""Workloads keep the cluster they are nominated for, and the states of their admission checks."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_queueing"
down_revision = "2026_11_21_baseline"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    with op.batch_alter_table("workloads") as table:
        table.add_column(sa.Column("nomination", sa.LargeBinary(), nullable=True))
        table.add_column(sa.Column("checks", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Go back to the revision before."""
    with op.batch_alter_table("workloads") as table:
        table.drop_column("checks")
        table.drop_column("nomination")

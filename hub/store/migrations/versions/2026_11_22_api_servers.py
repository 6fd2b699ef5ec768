"""Capacities keep whether the member's API server answers its agent."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_api_servers"
down_revision = "2026_11_22_tallies"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    with op.batch_alter_table("capacities") as table:
        table.add_column(sa.Column("down", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Go back to the revision before."""
    with op.batch_alter_table("capacities") as table:
        table.drop_column("down")

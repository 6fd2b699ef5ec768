"""Credentials of agents replace each other; a cluster's row says what its agent is."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_23_credentials"
down_revision = "2026_11_23_replicas"
branch_labels = None
depends_on = None
_ID = sa.String(36).with_variant(TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """Go to this revision."""
    with op.batch_alter_table("tokens") as table:
        table.add_column(sa.Column("replaces", _ID, nullable=True))
        table.add_column(sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("clusters") as table:
        table.add_column(sa.Column("agent", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Go back to the revision before."""
    with op.batch_alter_table("clusters") as table:
        table.drop_column("agent")
    with op.batch_alter_table("tokens") as table:
        table.drop_column("superseded_at")
        table.drop_column("replaces")

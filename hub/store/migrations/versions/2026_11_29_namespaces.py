"""Namespaces: which Namespace of the hub cluster each is, so that a hub notices that one was made again."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_29_namespaces"
down_revision = "2026_11_27_after"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision. The bridge fills the column in as it reads the hub cluster."""
    postgres = op.get_bind().dialect.name == "postgresql"
    uid: sa.types.TypeEngine[str] = TEXT(collation="C") if postgres else sa.String(length=64)
    with op.batch_alter_table("objects") as table:
        table.add_column(sa.Column("hub_cluster_uid", uid, nullable=True))


def downgrade() -> None:
    """Go back to the revision before."""
    with op.batch_alter_table("objects") as table:
        table.drop_column("hub_cluster_uid")

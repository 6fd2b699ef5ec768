"""How many workloads there are, by namespace, queue and state: kept beside them (hub.store.tallies)."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_tallies"
down_revision = "2026_11_22_one_form"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    op.create_table(
        "tallies",
        sa.Column("namespace", sa.String(63), nullable=False),
        sa.Column("queue", sa.String(253), nullable=False),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("shown", sa.Boolean(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "queue", "state", "shown", name=op.f("pk_tallies")),
    )


def downgrade() -> None:
    """Go back to the revision before."""
    for name in ("added", "changed", "removed"):
        op.execute(f"DROP TRIGGER IF EXISTS tally_{name}")
    op.drop_table("tallies")

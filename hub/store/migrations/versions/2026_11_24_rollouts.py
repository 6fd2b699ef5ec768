"""Placements roll out: what each cluster was given is kept as it was, and since when it stands there."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_24_rollouts"
down_revision = "2026_11_23_wide_numbers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    text: sa.types.TypeEngine[str] = sa.String(length=64)
    if op.get_bind().dialect.name == "postgresql":
        text = TEXT(collation="C")
    op.create_table(
        "contents",
        sa.Column("placement", text, nullable=False),
        sa.Column("hash", text, nullable=False),
        sa.Column("manifest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("placement", "hash", name=op.f("pk_contents")),
    )
    with op.batch_alter_table("works") as table:
        table.add_column(sa.Column("content", text, nullable=False, server_default=""))
    with op.batch_alter_table("bindings") as table:
        table.add_column(sa.Column("overrides", sa.LargeBinary(), nullable=True))
        table.add_column(sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Go back to the revision before: clusters keep what they have; changes go to all at once."""
    with op.batch_alter_table("bindings") as table:
        table.drop_column("settled_at")
        table.drop_column("overrides")
    with op.batch_alter_table("works") as table:
        table.drop_column("content")
    op.drop_table("contents")

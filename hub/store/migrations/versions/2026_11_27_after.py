"""Dependencies between jobs: whom a job waits for, and how each must end."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_27_after"
down_revision = "2026_11_26_people"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    postgres = op.get_bind().dialect.name == "postgresql"

    def of(length: int) -> sa.types.TypeEngine[str]:
        return TEXT(collation="C") if postgres else sa.String(length=length)

    op.create_table(
        "dependencies",
        sa.Column("uid", of(64), nullable=False),
        sa.Column("on_name", of(253), nullable=False),
        sa.Column("namespace", of(63), nullable=False),
        sa.Column("wanted", of(8), nullable=False),
        sa.Column("on_uid", of(64), nullable=False),
        sa.Column("state", of(16), nullable=False),
        sa.Column("ended", of(16), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("uid", "on_name", name=op.f("pk_dependencies")),
    )
    op.create_index(op.f("ix_dependencies_on_uid"), "dependencies", ["on_uid"])
    waiting = sa.text("state = 'Waiting'")
    op.create_index(
        op.f("ix_dependencies_open"),
        "dependencies",
        ["on_uid", "namespace", "on_name"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )


def downgrade() -> None:
    """Go back to the revision before: jobs that wait for others stay held until a person releases them."""
    op.drop_index(op.f("ix_dependencies_open"), "dependencies")
    op.drop_index(op.f("ix_dependencies_on_uid"), "dependencies")
    op.drop_table("dependencies")

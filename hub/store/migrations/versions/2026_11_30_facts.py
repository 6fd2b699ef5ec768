"""Events have fields for member, epoch, cause and the member's time; jobs for when they ran there."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_30_facts"
down_revision = "2026_11_30_decisions"
branch_labels = None
depends_on = None

_RAN = ("ran_from", "ran_until")  # of the member's clock


def upgrade() -> None:
    """Go to this revision."""
    name: sa.types.TypeEngine[str] = sa.String(length=63)
    code: sa.types.TypeEngine[str] = sa.String(length=64)
    subject: sa.types.TypeEngine[str] = sa.String(length=253)
    if op.get_bind().dialect.name == "postgresql":
        name = code = subject = TEXT(collation="C")
    number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
    instant = sa.DateTime(timezone=True)
    with op.batch_alter_table("events") as table:
        table.add_column(sa.Column("cluster", name, nullable=False, server_default=""))
        table.add_column(sa.Column("epoch", number, nullable=False, server_default="0"))
        table.add_column(sa.Column("cause", code, nullable=False, server_default=""))
        table.add_column(sa.Column("subject", subject, nullable=False, server_default=""))
        table.add_column(sa.Column("member_at", instant, nullable=True))
    with op.batch_alter_table("workloads") as table:
        for column in _RAN:
            table.add_column(sa.Column(column, instant, nullable=True))


def downgrade() -> None:
    """Go back to the revision before: events say these things in their messages alone."""
    with op.batch_alter_table("workloads") as table:
        for column in _RAN:
            table.drop_column(column)
    with op.batch_alter_table("events") as table:
        for column in ("member_at", "subject", "cause", "epoch", "cluster"):
            table.drop_column(column)

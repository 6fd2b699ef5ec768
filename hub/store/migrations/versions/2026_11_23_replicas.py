"""Clusters keep how far their agent's session has come, for several hubs answer it.

PostgreSQL's databases begin here: texts without a limit, in the order of their bytes.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_23_replicas"
down_revision = "2026_11_22_api_servers"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    conn = op.get_bind()
    if conn.dialect.name == "postgresql":
        _lift_limits(sa.inspect(conn))
    with op.batch_alter_table("clusters") as table:
        table.add_column(
            sa.Column("session_seq", sa.BigInteger(), nullable=False, server_default="0")
        )


def _lift_limits(seen: sa.Inspector) -> None:
    for table in seen.get_table_names():
        for column in seen.get_columns(table):
            if isinstance(column["type"], sa.String) and table != "alembic_version":
                op.alter_column(table, column["name"], type_=TEXT(collation="C"))


def downgrade() -> None:
    """Go back to the revision before; texts stay as they are."""
    with op.batch_alter_table("clusters") as table:
        table.drop_column("session_seq")

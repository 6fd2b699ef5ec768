"""Every whole number has 64 bits on PostgreSQL, as on SQLite: epochs after a restore are beyond 32."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_wide_numbers"
down_revision = "2026_11_23_credentials"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go to this revision."""
    conn = op.get_bind()
    if conn.dialect.name != "postgresql":
        return
    seen = sa.inspect(conn)
    for table in seen.get_table_names():
        for column in seen.get_columns(table):
            if type(column["type"]) is sa.INTEGER:
                op.alter_column(table, column["name"], type_=sa.BigInteger())


def downgrade() -> None:
    """Go back to the revision before; numbers stay wide."""

"""People: whose a job is, what the audit is about, groups of principals, and roles bound to people.

Owners of jobs that are there already are taken from the annotation that has said so all along.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_26_people"
down_revision = "2026_11_24_rollouts"
branch_labels = None
depends_on = None

# A text with a NUL can not be kept by PostgreSQL: such a job's owner stays unknown.
_OWNERS = {
    "sqlite": """
        UPDATE workloads SET owner = coalesce(substr(json_extract(
            CAST(annotations AS TEXT), '$."roadstead.dev/submitted-by"'), 1, 253), '')
        WHERE instr(CAST(annotations AS TEXT), 'roadstead.dev/submitted-by') > 0
    """,
    "postgresql": """
        UPDATE workloads SET owner = coalesce(substr(
            convert_from(annotations, 'UTF8')::json ->> 'roadstead.dev/submitted-by', 1, 253), '')
        WHERE position('roadstead.dev/submitted-by'::bytea in annotations) > 0
        AND position('\\\\u0000'::bytea in annotations) = 0
    """,
}


def upgrade() -> None:
    """Go to this revision."""
    dialect = op.get_bind().dialect.name
    postgres = dialect == "postgresql"
    name: sa.types.TypeEngine[str] = TEXT(collation="C") if postgres else sa.String(length=253)
    kind: sa.types.TypeEngine[str] = TEXT(collation="C") if postgres else sa.String(length=63)
    role: sa.types.TypeEngine[str] = TEXT(collation="C") if postgres else sa.String(length=32)
    with op.batch_alter_table("workloads") as table:
        table.add_column(sa.Column("owner", name, nullable=False, server_default=""))
    op.execute(_OWNERS[dialect])
    op.create_index(op.f("ix_workloads_owner"), "workloads", ["owner", "created_at", "uid"])
    with op.batch_alter_table("audit") as table:
        table.add_column(sa.Column("kind", kind, nullable=False, server_default=""))
        table.add_column(sa.Column("namespace", kind, nullable=False, server_default=""))
        table.add_column(sa.Column("name", name, nullable=False, server_default=""))
    with op.batch_alter_table("principals") as table:
        table.add_column(sa.Column("groups", sa.LargeBinary(), nullable=True))
    op.create_table(
        "role_bindings",
        sa.Column("name", name, nullable=False),
        sa.Column("role", role, nullable=False),
        sa.Column("users", sa.LargeBinary(), nullable=False),
        sa.Column("groups", sa.LargeBinary(), nullable=False),
        sa.Column("namespaces", sa.LargeBinary(), nullable=True),
        sa.Column("queues", sa.LargeBinary(), nullable=True),
        sa.Column("created_by", name, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_role_bindings")),
    )


def downgrade() -> None:
    """Go back to the revision before: who may do what is the tokens' roles alone again."""
    op.drop_table("role_bindings")
    with op.batch_alter_table("principals") as table:
        table.drop_column("groups")
    with op.batch_alter_table("audit") as table:
        table.drop_column("name")
        table.drop_column("namespace")
        table.drop_column("kind")
    op.drop_index(op.f("ix_workloads_owner"), "workloads")
    with op.batch_alter_table("workloads") as table:
        table.drop_column("owner")

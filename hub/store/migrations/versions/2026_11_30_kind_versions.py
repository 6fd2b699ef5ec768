"""Kinds of work that administrators define: every accepted version; jobs name the one that reads them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "2026_11_30_kind_versions"
down_revision = "2026_11_30_kinds"
branch_labels = None
depends_on = None

_USED = "SELECT count(*) FROM workloads WHERE kind_version <> '' AND live IS NOT NULL"
# Kinds that releases of the revision before do not queue.
_JOBS = (
    "SELECT count(*) FROM workloads WHERE live IS NOT NULL AND kind IN "
    "('LeaderWorkerSet', 'RayCluster', 'RayService', 'SparkApplication', 'AppWrapper')"
)
_WORKS = (
    "SELECT count(*) FROM works WHERE epoch > 0 AND kind IN "
    "('LeaderWorkerSet', 'RayCluster', 'RayService', 'SparkApplication', 'AppWrapper')"
)
# Those with a queue have a spec; a release of the revision before would place them.
_CRON_JOBS = (
    "SELECT count(*) FROM objects "
    "WHERE api_group = 'batch' AND kind = 'CronJob' AND spec IS NOT NULL"
)


def upgrade() -> None:
    """Go to this revision."""
    postgres = op.get_bind().dialect.name == "postgresql"

    def text(length: int) -> sa.types.TypeEngine[str]:
        return TEXT(collation="C") if postgres else sa.String(length=length)

    number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
    op.create_table(
        "kind_versions",
        sa.Column("name", text(253), nullable=False),
        sa.Column("version", number, nullable=False),
        sa.Column("api_version", text(253), nullable=False),
        sa.Column("kind", text(63), nullable=False),
        sa.Column("karta", sa.LargeBinary(), nullable=False),
        sa.Column("extension", sa.LargeBinary(), nullable=True),
        sa.Column("hash", text(64), nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", "version", name=op.f("pk_kind_versions")),
    )
    with op.batch_alter_table("workloads") as table:
        table.add_column(sa.Column("kind_version", text(280), nullable=False, server_default=""))


def downgrade() -> None:
    """Go back to the revision before. Raises ValueError while there is work that its release does not know.

    It would know no definition of the kind of a job, and so never its end; and no CronJob with a queue.
    """
    conn = op.get_bind()
    if cron_jobs := conn.execute(sa.text(_CRON_JOBS)).scalar_one():
        raise ValueError(f"{cron_jobs} CronJobs name a queue: delete them first")
    jobs, works = (conn.execute(sa.text(each)).scalar_one() for each in (_JOBS, _WORKS))
    if newer := max(jobs, works):
        raise ValueError(f"{newer} jobs are of kinds of this release: delete them first")
    if used := conn.execute(sa.text(_USED)).scalar_one():
        raise ValueError(
            f"{used} jobs are of kinds that administrators defined: delete them first"
        )
    with op.batch_alter_table("workloads") as table:
        table.drop_column("kind_version")
    op.drop_table("kind_versions")

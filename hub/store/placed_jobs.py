"""Jobs of placements: those that a placement decides for, and those that it may concern."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import bindparam, select

from hub.store.dialect import CHUNK
from hub.store.lookup import Prepared
from hub.store.records.placements import JobTraits
from hub.store.records.workloads import Workload
from hub.store.tables import workloads
from hub.store.transaction import Transaction
from hub.store.workloads import BARE, select_whole

_JOBS: Final = Prepared(
    select_whole()
    .where(workloads.c.placement == bindparam("placement"))
    .order_by(workloads.c.created_at.desc())
    .limit(bindparam("limit"))
)
_LIVE_JOBS: Final = Prepared(
    select_whole().where(
        workloads.c.namespace == bindparam("namespace"),
        workloads.c.kind != BARE,
        workloads.c.live.is_(True),
    )
)


def jobs_of(tx: Transaction, placement: str, limit: int = 5000) -> list[Workload]:
    """Workloads that this placement chose or is to choose a cluster for, newest first."""
    rows = _JOBS.rows(tx.conn, placement=placement, limit=limit)
    return [Workload._make(row) for row in rows]


def live_jobs(tx: Transaction, namespace: str) -> list[Workload]:
    """Jobs, and what else members run, that occupy names in a namespace."""
    rows = _LIVE_JOBS.rows(tx.conn, namespace=namespace)
    return [Workload._make(row) for row in rows]


def jobs_with_reason(tx: Transaction, namespaces: Sequence[str], reason: str) -> list[str]:
    """Uids of live Jobs in these namespaces whose reason to wait is this one."""
    c = workloads.c
    found: list[str] = []
    for start in range(0, len(namespaces), CHUNK):
        some = namespaces[start : start + CHUNK]
        query = select(c.uid).where(
            c.namespace.in_(some), c.kind != BARE, c.live.is_(True), c.reason == reason
        )
        found += tx.conn.execute(query).scalars()
    return found


def job_traits(tx: Transaction, uids: Sequence[str]) -> list[JobTraits]:
    """Inputs of which placements these Jobs concern."""
    c = workloads.c
    found: list[JobTraits] = []
    for start in range(0, len(uids), CHUNK):
        query = select(*(c[name] for name in JobTraits._fields)).where(
            c.uid.in_(uids[start : start + CHUNK]), c.kind != BARE
        )
        found.extend(JobTraits._make(row) for row in tx.conn.execute(query))
    return found

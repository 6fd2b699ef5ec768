"""What the live page shows of jobs: those that need looking at first, in one indexed statement each."""

from typing import Any

from sqlalchemy import select

from hub.domain.workload import TERMINAL
from hub.store.tables import workloads
from hub.store.unit import Unit

_SHOWN = (
    "uid",
    "namespace",
    "name",
    "queue",
    "state",
    "reason",
    "message",
    "cluster",
    "scores",
    "created_at",
    "started_at",
    "finished_at",
)


def unfinished(unit: Unit, limit: int) -> list[dict[str, Any]]:
    """Jobs that have not ended, oldest first."""
    c = workloads.c
    query = (
        select(*(c[name] for name in _SHOWN))
        .where(c.finished_at.is_(None), c.state.not_in(sorted(TERMINAL)))
        .order_by(c.created_at, c.uid)
        .limit(limit)
    )
    return [dict(row) for row in unit.conn.execute(query).mappings()]


def ended(unit: Unit, limit: int) -> list[dict[str, Any]]:
    """Jobs that have ended, the latest first."""
    c = workloads.c
    query = (
        select(*(c[name] for name in _SHOWN))
        .where(c.finished_at.is_not(None))
        .order_by(c.finished_at.desc())
        .limit(limit)
    )
    return [dict(row) for row in unit.conn.execute(query).mappings()]

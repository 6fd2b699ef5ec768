"""Who did what: one row per administrative verb, in the verb's own transaction."""

import datetime as dt

from sqlalchemy import delete, select

from hub.store.records.history import AuditEntry
from hub.store.tables import audit
from hub.store.transaction import Identified, Transaction


def note(tx: Transaction, principal: str, verb: str, row: Identified, outcome: str = "ok") -> None:
    """Write down what somebody did to a workload."""
    add(tx, principal, verb, f"{row.kind} {row.namespace}/{row.name} {row.uid}", outcome)


def add(tx: Transaction, principal: str, verb: str, of: str, outcome: str = "ok") -> None:
    """Append one row; `of`: what it was done to, in words."""
    tx.conn.execute(
        audit.insert(),
        {
            "at": tx.now,
            "principal": principal,
            "verb": verb,
            "object": of[:600],
            "outcome": outcome[:64],
        },
    )


def list_entries(tx: Transaction, *, before: int = 0, limit: int = 100) -> list[AuditEntry]:
    """The newest entries (older than id `before`), newest first."""
    query = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before:
        query = query.where(audit.c.id < before)
    return [AuditEntry._make(row) for row in tx.conn.execute(query)]


def trim(tx: Transaction, before: dt.datetime, limit: int) -> int:
    """Delete at most `limit` rows older than `before`; how many."""
    old = select(audit.c.id).where(audit.c.at < before).order_by(audit.c.at).limit(limit)
    return tx.conn.execute(delete(audit).where(audit.c.id.in_(old.scalar_subquery()))).rowcount

"""What members report to differ from what the hub wants there."""

from sqlalchemy import select

from hub.store.records.works import DriftedWork
from hub.store.tables import works
from hub.store.transaction import Transaction


def list_drifted(tx: Transaction, after: tuple[str, str] | None, limit: int) -> list[DriftedWork]:
    """Works with drift by (cluster, uid), after a position, at most `limit`."""
    c = works.c
    query = select(c.cluster, c.uid, c.kind, c.namespace, c.name, c.drift).where(
        c.drift.is_not(None)
    )
    if after is not None:
        query = query.where(
            (c.cluster > after[0]) | ((c.cluster == after[0]) & (c.uid > after[1]))
        )
    query = query.order_by(c.cluster, c.uid).limit(limit)
    return [DriftedWork._make(row) for row in tx.conn.execute(query)]

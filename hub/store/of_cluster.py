"""Desired objects of one cluster, counted, and those that differ: for the page of that cluster."""

from sqlalchemy import func, select

from hub.store import scoping
from hub.store.records.works import CountedWorks, DriftedWork
from hub.store.tables import works
from hub.store.transaction import Transaction


def count_works(tx: Transaction, cluster: str) -> list[CountedWorks]:
    """Works of a cluster by kind, action and phase."""
    c = works.c
    columns = (c.kind, c.action, c.phase)
    query = select(*columns, func.count()).where(c.cluster == cluster).group_by(*columns)
    return [CountedWorks._make(row) for row in tx.conn.execute(query.order_by(*columns))]


def drifted(tx: Transaction, cluster: str, limit: int) -> list[DriftedWork]:
    """Works of a cluster with drift, at most `limit`; not what is only compared."""
    c = works.c
    columns = [c[name] for name in DriftedWork._fields]
    query = select(*columns).where(
        c.cluster == cluster, c.drift.is_not(None), c.action != "Compare", *scoping.of_works(tx)
    )
    query = query.order_by(c.uid).limit(limit)
    return [DriftedWork._make(row) for row in tx.conn.execute(query)]

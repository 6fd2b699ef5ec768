"""Workloads in the order of their times, a page after another: what looks for some of them reads so."""

import datetime as dt

from sqlalchemy import literal, select, tuple_

from hub.store.records.workloads import JobPlace
from hub.store.tables import workloads
from hub.store.transaction import Transaction

Position = tuple[dt.datetime, str]  # created_at, uid


def places_after(tx: Transaction, after: Position | None, limit: int) -> list[JobPlace]:
    """The `limit` workloads that follow on `after`, oldest first; the cost is that of the page alone."""
    c = workloads.c
    query = select(*(c[name] for name in JobPlace._fields))
    if after is not None:
        bound = (literal(after[0], c.created_at.type), literal(after[1], c.uid.type))
        query = query.where(tuple_(c.created_at, c.uid) > tuple_(*bound))
    query = query.order_by(c.created_at, c.uid).limit(limit)
    return [JobPlace._make(row) for row in tx.conn.execute(query)]

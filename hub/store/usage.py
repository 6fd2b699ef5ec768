"""Consumption of LocalQueues, as admission fair sharing remembers it: one row each, as of a sample."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, delete, select

from hub.store.bulk import Bulk
from hub.store.dialect import insert
from hub.store.tables import usage
from hub.store.transaction import Transaction

CHANGED: Final = "usage"  # the kind under which a sample enters the change feed
_UPSERT: dict[str, Bulk] = {}  # by dialect


class Consumed(NamedTuple):
    """What one LocalQueue has consumed, in Kubernetes' units by resource, and when that was true."""

    namespace: str
    queue: str
    amounts: Mapping[str, float]
    at: dt.datetime


def every(tx: Transaction) -> list[Consumed]:
    """All there is."""
    return [
        Consumed(row.namespace, row.queue, row.consumed, row.at)
        for row in tx.conn.execute(select(usage)).all()
    ]


def put(tx: Transaction, rows: Sequence[Consumed]) -> None:
    """Write samples, in place of those that were there; every follower reads them anew."""
    dialect = tx.conn.dialect.name
    if dialect not in _UPSERT:
        statement = insert(tx.conn, usage).values(
            {c.name: bindparam(c.name, type_=c.type) for c in usage.c}
        )
        _UPSERT[dialect] = Bulk(
            statement.on_conflict_do_update(
                index_elements=["namespace", "queue"],
                set_={n: statement.excluded[n] for n in ("consumed", "at")},
            )
        )
    told: list[dict[str, Any]] = [
        {"namespace": r.namespace, "queue": r.queue, "consumed": dict(r.amounts), "at": r.at}
        for r in rows
    ]
    _UPSERT[dialect].run(tx.conn, told)
    tx.touch(CHANGED, CHANGED)


def drop(tx: Transaction, gone: Iterable[tuple[str, str]]) -> None:
    """Forget LocalQueues, by (namespace, name)."""
    c = usage.c
    statement = delete(usage).where(
        c.namespace == bindparam("of_namespace"), c.queue == bindparam("of_queue")
    )
    rows = [{"of_namespace": namespace, "of_queue": queue} for namespace, queue in gone]
    if rows:
        tx.conn.execute(statement, rows)

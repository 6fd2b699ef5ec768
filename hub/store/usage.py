"""Consumption of LocalQueues, as admission fair sharing remembers it: one row each, as of a sample."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy import bindparam, delete, select

from hub.store.bulk import Upsert
from hub.store.tables import usage
from hub.store.transaction import Transaction
from shared.documents import Json

CHANGED: Final = "usage"  # the kind under which a sample enters the change feed
_UPSERT: Final = Upsert(usage, ("namespace", "queue"))


class Consumed(NamedTuple):
    """The consumption of one LocalQueue, in Kubernetes' units by resource, and its time."""

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
    """Replace samples; every follower reads them again."""
    told: list[Json] = [
        {"namespace": r.namespace, "queue": r.queue, "consumed": dict(r.amounts), "at": r.at}
        for r in rows
    ]
    _UPSERT.run(tx.conn, told)
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

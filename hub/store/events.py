"""Events: the ordered history of what happened to each object."""

import datetime as dt
from collections.abc import Sequence
from typing import Final

from sqlalchemy import bindparam, delete, func, select

from hub.store import driver, scoping
from hub.store.bulk import Bulk
from hub.store.lookup import Prepared
from hub.store.records.history import NewEvent, StoredEvent
from hub.store.tables import events
from hub.store.transaction import Transaction

_ADD: Final = Bulk.insert(events, without=frozenset({"id"}))
_NEWEST: Final = str(select(func.max(events.c.id)))  # once per commit: spared the compiler

_IDS: Final = Prepared(
    select(events.c.id).where(events.c.id > bindparam("after"), events.c.id <= bindparam("until"))
)
_AFTER: Final = Prepared(
    select(events)
    .where(events.c.id > bindparam("after"))
    .order_by(events.c.id)
    .limit(bindparam("most"))
)


def add(tx: Transaction, rows: Sequence[NewEvent]) -> int:
    """Append `rows` in order; the id of the last one."""
    _ADD.run(tx.conn, rows)
    return newest(tx)


def newest(tx: Transaction) -> int:
    """The highest id; 0 before the first event."""
    return int(driver.ask(tx.conn, _NEWEST)[0][0] or 0)


def ids_after(tx: Transaction, after: int) -> frozenset[int]:
    """The ids above `after`, which is close to the newest."""
    return ids_between(tx, after, newest(tx))


def ids_between(tx: Transaction, after: int, until: int) -> frozenset[int]:
    """The ids above `after`, up to `until`, which is close to it."""
    return frozenset(_IDS.scalars(tx.conn, after=after, until=until))


def list_after(tx: Transaction, after: int, most: int) -> list[StoredEvent]:
    """Events of everything above an id, at most `most`, by id: for loops of the hub that follow them."""
    return [StoredEvent._make(row) for row in _AFTER.rows(tx.conn, after=after, most=most)]


def list_events(
    tx: Transaction,
    *,
    uid: str = "",
    namespace: str = "",
    kind: str = "",
    name: str = "",
    after: int = 0,
    before: int = 0,
    limit: int = 100,
    newest_first: bool = False,
    of_found: bool = False,
) -> list[StoredEvent]:
    """Events that meet every condition given, at most `limit`, by id.

    Those that the caller may see; `of_found`: of something that they have found already.
    """
    query = select(events).limit(limit)
    if not of_found:
        query = query.where(*scoping.of_events(tx))
    for column, value in (("uid", uid), ("namespace", namespace), ("kind", kind), ("name", name)):
        if value:
            query = query.where(events.c[column] == value)
    if after:
        query = query.where(events.c.id > after)
    if before:
        query = query.where(events.c.id < before)
    query = query.order_by(events.c.id.desc() if newest_first else events.c.id)
    return [StoredEvent._make(row) for row in tx.conn.execute(query)]


def about(tx: Transaction, uid: str, reason: str, limit: int) -> list[StoredEvent]:
    """The newest events of one reason about one thing, oldest first; those of a transaction come later."""
    c = events.c
    query = select(events).where(c.uid == uid, c.reason == reason)
    rows = tx.conn.execute(query.order_by(c.id.desc()).limit(limit)).all()
    return [StoredEvent._make(row) for row in reversed(rows)]


def remove(tx: Transaction, ids: Sequence[int]) -> None:
    """Take some away."""
    if ids:
        tx.conn.execute(delete(events).where(events.c.id.in_(ids)))


def trim(tx: Transaction, before: dt.datetime, limit: int) -> int:
    """Delete at most `limit` events older than `before`, never the newest; how many."""
    last = select(func.max(events.c.id)).scalar_subquery()
    old = select(events.c.id).where(events.c.at < before).order_by(events.c.at).limit(limit)
    done = tx.conn.execute(
        delete(events).where(events.c.id.in_(old.scalar_subquery()), events.c.id < last)
    )
    return done.rowcount

"""Leases: who leads, under which term. The term grows with every change of holder.

Beside the leader's there is one for each hub process that says where it is reached: nobody contends for it.
"""

import datetime as dt

from sqlalchemy import delete, select, update

from hub.store.dialect import insert
from hub.store.tables import leases
from hub.store.transaction import LEADER, Transaction
from shared.failpoints import failpoint


def take(tx: Transaction, holder: str, ttl: dt.timedelta, name: str = LEADER) -> int | None:
    """Take or renew lease `name` for `holder`: its term, or None while another holds it."""
    row = tx.conn.execute(select(leases).where(leases.c.name == name)).one_or_none()
    term = 1
    if row is not None:
        if row.holder != holder and row.expires_at > tx.now:
            return None
        term = row.term if row.holder == holder else row.term + 1
    statement = insert(tx.conn, leases).values(
        name=name, holder=holder, term=term, expires_at=tx.now + ttl
    )
    tx.conn.execute(
        statement.on_conflict_do_update(
            index_elements=["name"],
            set_={
                column: statement.excluded[column] for column in ("holder", "term", "expires_at")
            },
        )
    )
    if row is None or row.term != term:
        failpoint("H18")
    return term


def end(tx: Transaction, holder: str, name: str = LEADER) -> None:
    """Let lease `name` run out now, if `holder` has it."""
    tx.conn.execute(
        update(leases)
        .where(leases.c.name == name, leases.c.holder == holder)
        .values(expires_at=tx.now)
    )


def is_free(tx: Transaction, name: str = LEADER) -> bool:
    """True if lease `name` is free, or has run out."""
    until = tx.conn.execute(select(leases.c.expires_at).where(leases.c.name == name)).scalar()
    return until is None or until <= tx.now


def present_term(tx: Transaction, name: str = LEADER) -> int:
    """The term of `name`; 0 before anyone led."""
    return int(tx.conn.execute(select(leases.c.term).where(leases.c.name == name)).scalar() or 0)


def seize(tx: Transaction, holder: str, ttl: dt.timedelta, name: str = LEADER) -> int:
    """Take lease `name` from any holder (the embedded hub, which is alone): the new term."""
    term = present_term(tx, name) + 1
    statement = insert(tx.conn, leases).values(
        name=name, holder=holder, term=term, expires_at=tx.now + ttl
    )
    tx.conn.execute(
        statement.on_conflict_do_update(
            index_elements=["name"],
            set_={
                column: statement.excluded[column] for column in ("holder", "term", "expires_at")
            },
        )
    )
    failpoint("H18")
    return term


def keep(tx: Transaction, name: str, holder: str, ttl: dt.timedelta) -> None:
    """Hold lease `name`, which no other process asks for."""
    statement = insert(tx.conn, leases).values(
        name=name, holder=holder, term=1, expires_at=tx.now + ttl
    )
    tx.conn.execute(
        statement.on_conflict_do_update(
            index_elements=["name"],
            set_={column: statement.excluded[column] for column in ("holder", "expires_at")},
        )
    )


def held(tx: Transaction, prefix: str) -> list[tuple[str, str]]:
    """Name and holder of those that begin so and have not run out, in the order of their names."""
    c = leases.c
    query = select(c.name, c.holder).where(c.name.startswith(prefix), c.expires_at > tx.now)
    return [(str(name), str(holder)) for name, holder in tx.conn.execute(query.order_by(c.name))]


def drop(tx: Transaction, name: str) -> None:
    """Release lease `name` permanently."""
    tx.conn.execute(delete(leases).where(leases.c.name == name))


def forget(tx: Transaction, prefix: str) -> None:
    """Take away those that begin so and have run out."""
    c = leases.c
    tx.conn.execute(delete(leases).where(c.name.startswith(prefix), c.expires_at <= tx.now))

"""Role bindings: who has which role where. Few, read whole, and told in the feed as `access`."""

import datetime as dt
from typing import NamedTuple

from sqlalchemy import delete, select

from hub.store.tables import role_bindings
from hub.store.transaction import Transaction

FEED = "access"


class StoredRoleBinding(NamedTuple):
    """A field for each column of the table `role_bindings`, in its order."""

    name: str
    role: str
    users: list[str]
    groups: list[str]
    namespaces: list[str] | None
    queues: list[str] | None
    created_by: str
    created_at: dt.datetime


def put(tx: Transaction, row: StoredRoleBinding) -> None:
    """Insert a binding, in place of the one of that name."""
    tx.conn.execute(delete(role_bindings).where(role_bindings.c.name == row.name))
    tx.conn.execute(role_bindings.insert(), row._asdict())
    tx.touch(FEED, row.name)


def get(tx: Transaction, name: str) -> StoredRoleBinding | None:
    """The binding of that name."""
    found = tx.conn.execute(select(role_bindings).where(role_bindings.c.name == name)).first()
    return None if found is None else StoredRoleBinding._make(found)


def every(tx: Transaction) -> list[StoredRoleBinding]:
    """All of them by name."""
    rows = tx.conn.execute(select(role_bindings).order_by(role_bindings.c.name))
    return [StoredRoleBinding._make(row) for row in rows]


def remove(tx: Transaction, name: str) -> None:
    """Delete the binding of that name."""
    tx.conn.execute(delete(role_bindings).where(role_bindings.c.name == name))
    tx.touch(FEED, name)

"""Role bindings: who has which role where. Few, read whole, and told in the feed as `access`.

A binding that lists priority classes keeps them beside its queues, in the JSON of column `queues`:
`{"queues": …, "priorityClasses": […]}`. A release that does not know this reads queues of these two names,
and gives nothing.
"""

import datetime as dt
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import delete, select

from hub.store.tables import role_bindings
from hub.store.transaction import Transaction

FEED = "access"
_QUEUES, _CLASSES = "queues", "priorityClasses"


class StoredRoleBinding(NamedTuple):
    """A field for each column of the table `role_bindings`, in its order, and the priority classes."""

    name: str
    role: str
    users: list[str]
    groups: list[str]
    namespaces: list[str] | None
    queues: list[str] | None
    created_by: str
    created_at: dt.datetime
    priority_classes: list[str] | None = None  # null: all of them


def put(tx: Transaction, row: StoredRoleBinding) -> None:
    """Insert a binding, in place of the one of that name."""
    tx.conn.execute(delete(role_bindings).where(role_bindings.c.name == row.name))
    columns = row._asdict()
    classes = columns.pop("priority_classes")
    if classes is not None:
        columns["queues"] = {_QUEUES: row.queues, _CLASSES: classes}
    tx.conn.execute(role_bindings.insert(), columns)
    tx.touch(FEED, row.name)


def get(tx: Transaction, name: str) -> StoredRoleBinding | None:
    """The binding of that name."""
    found = tx.conn.execute(select(role_bindings).where(role_bindings.c.name == name)).first()
    return None if found is None else _read(found)


def every(tx: Transaction) -> list[StoredRoleBinding]:
    """All of them by name."""
    rows = tx.conn.execute(select(role_bindings).order_by(role_bindings.c.name))
    return [_read(row) for row in rows]


def _read(found: Iterable[object]) -> StoredRoleBinding:
    row = StoredRoleBinding._make((*found, None))
    kept: object = row.queues
    if isinstance(kept, dict):
        row = row._replace(queues=kept[_QUEUES], priority_classes=kept[_CLASSES])
    return row


def remove(tx: Transaction, name: str) -> None:
    """Delete the binding of that name."""
    tx.conn.execute(delete(role_bindings).where(role_bindings.c.name == name))
    tx.touch(FEED, name)

"""Settings: one value each, such as the hub's id, its incarnation, the pool keys."""

from typing import Any

from sqlalchemy import delete, select

from hub.store.dialect import insert
from hub.store.tables import settings
from hub.store.transaction import Transaction


def get(tx: Transaction, name: str) -> Any | None:
    """The value of `name`, or None."""
    return tx.conn.execute(select(settings.c.value).where(settings.c.name == name)).scalar()


def put(tx: Transaction, name: str, value: Any) -> None:
    """Set `name` to a JSON value."""
    statement = insert(tx.conn, settings).values(name=name, value=value)
    tx.conn.execute(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"value": statement.excluded.value}
        )
    )
    tx.touch("settings", name)


def remove(tx: Transaction, name: str) -> None:
    """Forget `name`."""
    tx.conn.execute(delete(settings).where(settings.c.name == name))
    tx.touch("settings", name)

"""Settings: one value each, such as the hub's id, its incarnation, the pool keys."""

from typing import Any

from sqlalchemy import delete, select

from hub.store.dialect import insert
from hub.store.tables import settings
from hub.store.unit import Unit


def get(unit: Unit, name: str) -> Any | None:
    """The value of `name`, or None."""
    return unit.conn.execute(select(settings.c.value).where(settings.c.name == name)).scalar()


def put(unit: Unit, name: str, value: Any) -> None:
    """Set `name` to a JSON value."""
    statement = insert(unit.conn, settings).values(name=name, value=value)
    unit.conn.execute(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"value": statement.excluded.value}
        )
    )
    unit.touch("settings", name)


def remove(unit: Unit, name: str) -> None:
    """Forget `name`."""
    unit.conn.execute(delete(settings).where(settings.c.name == name))
    unit.touch("settings", name)

"""Older hubs that may run on a newer schema: written into the database, read by those hubs.

A schema changes in two steps. A release that *expands* it adds what hubs of the release before neither
read nor miss, and says so: they run on, and start again, beside the new ones. A later release *contracts*
it, once no earlier hub is left. The database itself keeps which of the two was done last, for an older
hub can not know it.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, delete, select

from hub.store.dialect import insert
from hub.store.lookup import Prepared
from hub.store.tables import settings
from shared.documents import Json

_KEY: Final = "schema"  # a setting: {"revision": at which it is, "beside": [older revisions]}
_TOLD: Final = Prepared(select(settings.c.value).where(settings.c.name == bindparam("named")))


def beside(conn: Connection, revision: str) -> tuple[str, ...]:
    """The older revisions whose hubs may run on this database, which is at `revision`."""
    told = _read(conn)
    return tuple(told["beside"]) if told.get("revision") == revision else ()


def tell(conn: Connection, revision: str, older: Sequence[str]) -> None:
    """Write down that hubs of the `older` revisions may run on this database, which is at `revision`."""
    value = {"revision": revision, "beside": list(older)}
    if _read(conn) == value:
        return
    statement = insert(conn, settings).values(name=_KEY, value=value)
    conn.execute(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"value": statement.excluded.value}
        )
    )


def forget(conn: Connection) -> None:
    """Before a database goes back to an older revision, whose hubs need no permission."""
    conn.execute(delete(settings).where(settings.c.name == _KEY))


def _read(conn: Connection) -> Json:
    found = _TOLD.scalar(conn, named=_KEY)
    return found if isinstance(found, dict) else {}

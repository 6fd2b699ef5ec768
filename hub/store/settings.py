"""Settings: one value each, such as the hub's id, its incarnation, the pool keys.

Those in `SECRET`, and those whose names begin with `SECRETS`, are kept encrypted where there is a key; the
others are read before keys are known.
"""

import base64
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, delete, or_, select

from hub.store.columns import keys_of
from hub.store.dialect import insert
from hub.store.lookup import Prepared
from hub.store.tables import settings
from hub.store.transaction import Transaction

SECRET: Final = frozenset({"page_key"})
SECRETS: Final = "secret:"
_SEALED: Final = "sealed"
_VALUE: Final = Prepared(select(settings.c.value).where(settings.c.name == bindparam("named")))


def get(tx: Transaction, name: str) -> Any | None:
    """The value of `name`, or None. Raises Sealed."""
    found = _VALUE.scalar(tx.conn, named=name)
    if _is_secret(name) and isinstance(found, dict) and _SEALED in found:
        kept = base64.b64decode(found[_SEALED])
        return orjson.loads(keys_of(tx.conn.dialect).unseal(kept, _place(name)))
    return found


def put(tx: Transaction, name: str, value: object) -> None:
    """Set `name` to a JSON value."""
    if _is_secret(name):
        value = _sealed(tx, name, value)
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


def beginning_with(tx: Transaction, prefix: str) -> dict[str, Any]:
    """Values by name of those that are no secrets and whose names begin with `prefix`."""
    columns = select(settings.c.name, settings.c.value)
    found = tx.conn.execute(columns.where(settings.c.name.startswith(prefix, autoescape=True)))
    return {name: value for name, value in found if not _is_secret(name)}


def secret_names(tx: Transaction) -> list[str]:
    """Of those that are there and are kept encrypted where there is a key."""
    secret = or_(settings.c.name.in_(SECRET), settings.c.name.startswith(SECRETS, autoescape=True))
    return list(tx.conn.execute(select(settings.c.name).where(secret)).scalars())


def _is_secret(name: str) -> bool:
    return name in SECRET or name.startswith(SECRETS)


def _sealed(tx: Transaction, name: str, value: object) -> object:
    body = orjson.dumps(value)
    kept = keys_of(tx.conn.dialect).seal(body, _place(name))
    return value if kept == body else {_SEALED: base64.b64encode(kept).decode()}


def _place(name: str) -> str:
    return f"settings.{name}"

"""The one place that knows how each database spells what SQLAlchemy Core does not unify.

Everything else in the store is written in statements that SQLite and PostgreSQL both take.
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    any_,
    bindparam,
    cast,
    func,
    select,
    tuple_,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB

# Bound parameters of one statement: SQLite's limit is 32,766, PostgreSQL's 65,535.
CHUNK = 900
# A transaction that an administrator waits for may compute on a whole database between its statements.
PATIENT_S: Final = 600
KEYS = "among_keys"  # the parameter that `among` binds
Query = Select[Any]  # whatever its columns are


def among(dialect: str, column: ColumnElement[str]) -> ColumnElement[bool]:
    """`column` is one of the keys that `key_list` packs into one parameter."""
    if dialect == "sqlite":
        keys = func.json_each(bindparam(KEYS)).table_valued("value")
        return column.in_(select(keys.c.value))
    return column == any_(bindparam(KEYS, type_=ARRAY(column.type)))


def among_pairs(
    dialect: str, first: ColumnElement[str], second: ColumnElement[str]
) -> ColumnElement[bool]:
    """Two columns are one of the pairs that `pair_list` packs into one parameter."""
    if dialect == "sqlite":
        keys = func.json_each(bindparam(KEYS)).table_valued("value")
        parts = (func.json_extract(keys.c.value, f"$[{place}]") for place in (0, 1))
    else:
        keys = func.jsonb_array_elements(cast(bindparam(KEYS), JSONB)).table_valued("value")
        parts = (func.jsonb_extract_path_text(keys.c.value, str(place)) for place in (0, 1))
    return tuple_(first, second).in_(select(*parts))


def begins_with(dialect: str, column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    """`column` begins with `prefix`, in whichever order the database sorts texts."""
    if dialect == "sqlite":  # sorts by bytes: a range is read by the index, LIKE is not
        return and_(column >= prefix, column < f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}")
    return column.startswith(prefix, autoescape=True)


def raise_idle_limit(conn: Connection) -> None:
    """Let this transaction compute between its statements for as long as an administrator waits."""
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{PATIENT_S}s'")


def pair_list(pairs: Iterable[tuple[str, str]]) -> str:
    """Pairs as `among_pairs` reads them."""
    return orjson.dumps(list(pairs)).decode()


def key_list(dialect: str, keys: Iterable[str]) -> Any:
    """Keys as `among` reads them."""
    every = list(keys)
    return orjson.dumps(every).decode() if dialect == "sqlite" else every


def insert(conn: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that has `on_conflict_do_update` and `on_conflict_do_nothing`."""
    if conn.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)

"""The one place that knows how each database spells what SQLAlchemy Core does not unify.

Everything else in the store is written in statements that SQLite and PostgreSQL both take.
"""

from collections.abc import Iterable
from typing import Any

import orjson
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Engine,
    Table,
    any_,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    select,
    tuple_,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool, StaticPool

BUSY_TIMEOUT_S = 30
# Pages of 4 KiB in the log before they are moved into the file: 32 MiB, so that a burst of commits
# pays for few moves.
CHECKPOINT_PAGES = 8192
# Bound parameters of one statement: SQLite's limit is 32,766, PostgreSQL's 65,535.
CHUNK = 900
KEYS = "among_keys"  # the parameter that `among` binds


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


def writer_engine(url: str) -> Engine:
    """One connection, for the one thread that writes."""
    return _engine(url, StaticPool, "BEGIN IMMEDIATE", ("PRAGMA synchronous=FULL",))


def reader_engine(url: str, size: int) -> Engine:
    """`size` connections that can not write; each transaction sees one state of the database."""
    return _engine(url, QueuePool, "BEGIN", ("PRAGMA query_only=ON",), pool_size=size)


def _engine(
    url: str,
    pool: type[QueuePool] | type[StaticPool],
    begin: str,
    pragmas: tuple[str, ...],
    **options: int,
) -> Engine:
    if not url.startswith("sqlite"):
        raise ValueError(
            f"database {url!r}: this release keeps its data in SQLite (sqlite:///PATH)"
        )
    engine = create_engine(
        url,
        poolclass=pool,
        hide_parameters=True,  # manifests hold what no log may say
        connect_args={
            "check_same_thread": False,
            "isolation_level": None,  # we say BEGIN ourselves: see below
            "timeout": BUSY_TIMEOUT_S,
        },
        **options,
    )

    def connected(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for pragma in (
            "PRAGMA journal_mode=WAL",
            f"PRAGMA journal_size_limit={64 << 20}",
            f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}",
            "PRAGMA temp_store=MEMORY",
            f"PRAGMA cache_size=-{64 << 10}",
            *pragmas,
        ):
            cursor.execute(pragma)
        cursor.close()

    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", began)
    return engine

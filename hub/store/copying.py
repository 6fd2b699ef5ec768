"""Every row of a database into another one of the same schema, whatever the two are.

A backup is always a file of SQLite: one that any release from the first on can look into, bring up to date
and check, that moves between SQLite and PostgreSQL, and that needs no program of a server's own version.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Executable,
    LargeBinary,
    Row,
    Table,
    bindparam,
    create_engine,
    func,
    insert,
    select,
    text,
    type_coerce,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool
from sqlalchemy.types import TypeEngine

from hub.store import schema, survey
from hub.store.backends.sqlite import Sqlite, address_of
from hub.store.columns import JsonColumn, OptionsColumn, SealedColumn
from hub.store.errors import UnusableDatabase
from hub.store.tables import metadata

_ROWS: Final = 1000  # at a time
_NOT_WRITTEN: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_DIR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
    }
)  # SQLite's codes of a disk that takes nothing
# In a backup, beside the hub's tables: what it is of. Not there any more once it is restored.
ABOUT: Final = "backup_about"
_WITHOUT_LOG = b"\x01\x01"  # the write and read versions in the header of a file that has no WAL


@contextmanager
def looking(path: Path) -> Iterator[Connection]:
    """An immutable file that reading does not change. Raises UnusableDatabase."""
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True
        ),
        poolclass=StaticPool,
    )
    try:
        with engine.connect() as conn:
            yield conn
    except DBAPIError as error:
        raise UnusableDatabase(f"{path}: {error.orig}") from error
    finally:
        engine.dispose()


def copy_file(source: Path, target: Path) -> None:
    """The database of a file as it is at one instant, hubs writing or not.

    Raises UnusableDatabase, and what SQLite raises where `target` can not be written.
    """
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as live,
            closing(sqlite3.connect(target)) as copy,
        ):
            live.backup(copy)
        close_log(target)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode in _NOT_WRITTEN:  # `source` is only read
            raise
        raise UnusableDatabase(f"{source}: {error}") from error


def remove_file(path: Path) -> None:
    """Remove a database's file, with the files that SQLite keeps beside it."""
    for end in ("-journal", "-wal", "-shm", ""):
        path.with_name(path.name + end).unlink(missing_ok=True)


def close_log(path: Path) -> None:
    """Have the whole database in the one file."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA journal_mode=DELETE")


def make_file(target: Path) -> Engine:
    """A new file with this release's tables, and no triggers. The caller disposes of the engine."""
    engine = Sqlite(address_of(target)).writer_engine()
    with engine.begin() as conn:
        schema.create(conn)
    return engine


def copy_rows(source: Connection, target: Connection) -> dict[str, int]:
    """Add every row of `source`'s tables to the empty ones of `target`; how many of each table."""
    return {table.name: _copy_table(table, source, target) for table in metadata.sorted_tables}


def empty(conn: Connection) -> None:
    """Take every row away."""
    for table in reversed(metadata.sorted_tables):
        conn.execute(table.delete())


def counts(conn: Connection) -> dict[str, int]:
    """The number of rows of each table."""
    return {table.name: survey.count(conn, table) for table in metadata.sorted_tables}


def describe(path: Path, about: dict[str, str]) -> None:
    """Write into a backup what it is of."""
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute(f"CREATE TABLE {ABOUT} (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        conn.executemany(f"INSERT INTO {ABOUT} VALUES (?, ?)", about.items())  # noqa: S608 - a constant


def description(path: Path) -> dict[str, str]:
    """A backup's own description; empty for a copy made by other tools. Raises UnusableDatabase."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as conn:
            found = conn.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise UnusableDatabase(f"{path} is damaged ({found})")
            tables = conn.execute("SELECT name FROM sqlite_master WHERE name = ?", (ABOUT,))
            if tables.fetchone() is None:
                return {}
            return dict(conn.execute(f"SELECT name, value FROM {ABOUT}").fetchall())  # noqa: S608 - a constant
    except sqlite3.DatabaseError as error:
        raise UnusableDatabase(f"{path}: {error}") from error


def is_backup(path: Path) -> bool:
    """Does a file say of itself that it is a backup? One that a hub writes has a log and says nothing.

    Raises UnusableDatabase.
    """
    try:
        with path.open("rb") as file:
            versions = file.read(20)[18:]
    except OSError:
        return False
    return versions == _WITHOUT_LOG and bool(description(path))


def undescribe(conn: Connection) -> None:
    """Take what it says of itself out of a copy that is to be a hub's."""
    conn.execute(text(f"DROP TABLE IF EXISTS {ABOUT}"))


def _copy_table(table: Table, source: Connection, target: Connection) -> int:
    statement = insert(table).values(
        {column.name: bindparam(f"b_{column.name}", type_=_raw(column)) for column in table.c}
    )
    names = [f"b_{column.name}" for column in table.c]
    number = 0
    for rows in _pages(source, select(*(_as_it_is(column) for column in table.c))):
        target.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])
        number += len(rows)
    _go_on_numbering(table, target)
    return number


def _pages(conn: Connection, query: Executable) -> Iterator[Sequence[Row[tuple[object, ...]]]]:
    streamed = conn.execution_options(stream_results=True, yield_per=_ROWS).execute(query)
    yield from streamed.partitions(_ROWS)


def _as_it_is(column: Column[object]) -> ColumnElement[object]:
    """JSON, and what is encrypted, is handed on as the bytes that it is."""
    return type_coerce(column, _raw(column)) if _is_json(column) else column


def _raw(column: Column[object]) -> TypeEngine[object] | LargeBinary:
    return LargeBinary() if _is_json(column) else column.type


def _is_json(column: Column[object]) -> bool:
    """Or encrypted: a copy needs no key."""
    return isinstance(column.type, JsonColumn | OptionsColumn | SealedColumn)


def _go_on_numbering(table: Table, conn: Connection) -> None:
    """PostgreSQL numbers rows by a sequence, which knows nothing of what was put in with its number."""
    column = table.autoincrement_column
    if conn.dialect.name != "postgresql" or column is None:
        return
    asked = text("SELECT pg_get_serial_sequence(:table, :column)")
    sequence = conn.execute(asked, {"table": table.name, "column": column.name}).scalar()
    if sequence is not None:
        newest = conn.execute(select(func.coalesce(func.max(column), 0))).scalar_one()
        conn.execute(
            text("SELECT setval(CAST(:sequence AS regclass), :value, :used)"),
            {"sequence": sequence, "value": max(newest, 1), "used": newest > 0},
        )

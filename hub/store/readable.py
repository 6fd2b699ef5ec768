"""Finds values of a SQLite file that no hub can read: SQLite itself takes any value anywhere.

SQLite looks through the rows, and hands what only Python can judge to it, one value at a time: nothing but
a count is kept, whatever the number of rows.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Integer,
    LargeBinary,
    String,
    Table,
    inspect,
    text,
)
from sqlalchemy.types import TypeEngine

from hub.domain.workloads.apply_options import ApplyOptions
from hub.store.columns import JsonColumn, OptionsColumn, SealedColumn, Utc
from hub.store.keyring import is_sealed
from hub.store.tables import metadata

# As hubs write it, and a day that there is: reckoned with, 31 February becomes 3 March.
_DAY: Final = "-".join(["[0-9]" * n for n in (4, 2, 2)])
_AS_WRITTEN: Final = f"{_DAY} {':'.join(['[0-9][0-9]'] * 3)}.{'[0-9]' * 6}"
_INSTANT: Final = (
    "{0} IS NOT NULL AND (typeof({0}) <> 'text' OR {0} NOT GLOB '[0-9][0-9][0-9][0-9]-*' "
    "OR datetime({0}) IS NULL OR substr({0}, 1, 4) = '0000' OR (NOT ({0} GLOB '"
    + _AS_WRITTEN
    + "' "
    "AND datetime({0}, '+0 days') = substr({0}, 1, 19)) AND no_instant(CAST({0} AS BLOB))))"
)
_NUMBER: Final = "typeof({0}) NOT IN ('integer', 'null')"
_DOCUMENT: Final = "{0} IS NOT NULL AND (typeof({0}) <> 'blob' OR no_document({0}))"
_OPTIONS: Final = "{0} IS NOT NULL AND (typeof({0}) <> 'blob' OR no_options({0}))"
_BYTES: Final = "typeof({0}) NOT IN ('blob', 'null')"
# Printable ASCII, as most texts are, is UTF-8. GLOB ends at a zero byte, so does the shorter length.
_TEXT: Final = (
    "{0} IS NOT NULL AND (typeof({0}) <> 'text' OR (({0} GLOB '*[^ -~]*' "
    "OR length({0}) <> length(CAST({0} AS BLOB))) AND no_text(CAST({0} AS BLOB))))"
)
# The first that a column's type is one of.
_RULES: Final[tuple[tuple[tuple[type[TypeEngine[Any]], ...], str, str], ...]] = (
    ((Utc,), "an instant", _INSTANT),
    ((OptionsColumn,), "apply options", _OPTIONS),
    ((JsonColumn,), "JSON", _DOCUMENT),
    ((LargeBinary, SealedColumn), "bytes", _BYTES),
    ((Integer, BigInteger, Boolean), "a number", _NUMBER),
    ((String,), "text", _TEXT),
)
_BYTES_OF_JSON: Final = frozenset({"manifests.manifest", "capacities.capacity"})
_FAULTS: Final = (ValueError, TypeError, AttributeError, KeyError)  # UnicodeDecodeError is one


def unreadable(conn: Connection) -> Iterator[str]:
    """Yield, of each column that has such values: how many, the table and the column, and what it holds."""
    _give_functions(conn)
    there = inspect(conn)
    names = set(there.get_table_names())
    for table in metadata.sorted_tables:
        if table.name in names:
            present = {each["name"] for each in there.get_columns(table.name)}
            yield from _of_table(conn, table, present)


def _of_table(conn: Connection, table: Table, present: set[str]) -> Iterator[str]:
    """In one pass over the table."""
    checked = {
        column.name: rule
        for column in table.c
        if column.name in present and (rule := _rule(table.name, column))
    }
    if not checked:
        return
    sums = ", ".join(
        f"coalesce(sum({wrong.format(_quoted(name))}), 0)" for name, (_, wrong) in checked.items()
    )
    row = conn.execute(text(f"SELECT {sums} FROM {_quoted(table.name)}")).one()  # noqa: S608 - our own names
    for (name, (what, _)), count in zip(checked.items(), row, strict=True):
        if count:
            values = "1 value" if count == 1 else f"{count} values"
            yield f"{values} of {table.name}.{name} can not be read as {what}"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _rule(table: str, column: Column[Any]) -> tuple[str, str] | None:
    """The type of a column, and the SQL condition under which a value is invalid."""
    if f"{table}.{column.name}" in _BYTES_OF_JSON:
        return "JSON", _DOCUMENT
    kind = column.type
    return next(((what, wrong) for kinds, what, wrong in _RULES if isinstance(kind, kinds)), None)


def _give_functions(conn: Connection) -> None:
    """SQLite calls these with the bytes of one value; true: a hub could not read it."""
    sqlite = conn.connection.dbapi_connection
    assert sqlite is not None
    for name, read in (
        ("no_instant", lambda value: dt.datetime.fromisoformat(value.decode())),
        ("no_document", _document),
        ("no_options", lambda value: ApplyOptions.from_json(orjson.loads(value))),
        ("no_text", bytes.decode),
    ):
        sqlite.create_function(name, 1, _fails(read), deterministic=True)


def _document(value: bytes) -> None:
    """Sealed ones are opened elsewhere, by who has the keys."""
    if not is_sealed(value):
        orjson.loads(value)


def _fails(read: Callable[[bytes], object]) -> Callable[[bytes], bool]:
    def fails(value: bytes) -> bool:
        try:
            read(value)
        except _FAULTS:
            return True
        return False

    return fails

"""Finds values of a SQLite file that its columns can not hold: SQLite itself takes any value anywhere."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import BigInteger, Boolean, Connection, Integer, Table, inspect, text

from hub.store.columns import Utc
from hub.store.tables import metadata

_INSTANT: Final = (
    "{0} IS NOT NULL AND (typeof({0}) <> 'text' OR {0} NOT GLOB '[0-9][0-9][0-9][0-9]-*' "
    "OR datetime({0}) IS NULL)"
)
_NUMBER: Final = "typeof({0}) NOT IN ('integer', 'null')"


def unreadable(conn: Connection) -> Iterator[tuple[str, str, str, int]]:
    """Yield table, column, the type it holds, and the number of values of another type."""
    there = inspect(conn)
    names = set(there.get_table_names())
    for table in metadata.sorted_tables:
        if table.name in names:
            present = {each["name"] for each in there.get_columns(table.name)}
            yield from _of_table(conn, table, present)


def _of_table(
    conn: Connection, table: Table, present: set[str]
) -> Iterator[tuple[str, str, str, int]]:
    """In one pass over the table."""
    checked = {
        column.name: what
        for column in table.c
        if column.name in present and (what := _what(column.type))
    }
    if not checked:
        return
    wrong = {"an instant": _INSTANT, "a number": _NUMBER}
    sums = ", ".join(
        f"coalesce(sum({wrong[what].format(_quoted(name))}), 0)" for name, what in checked.items()
    )
    row = conn.execute(text(f"SELECT {sums} FROM {_quoted(table.name)}")).one()  # noqa: S608 - our own names
    for (name, what), count in zip(checked.items(), row, strict=True):
        if count:
            yield table.name, name, what, int(count)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _what(kind: object) -> str:
    if isinstance(kind, Utc):
        return "an instant"
    return "a number" if isinstance(kind, Integer | BigInteger | Boolean) else ""

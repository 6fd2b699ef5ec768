"""Survey of a database: size and age of each table, and whether counts are correct."""

import datetime as dt
from typing import Final, NamedTuple

from sqlalchemy import Column, Connection, Table, func, select, text

from hub.store.tables import metadata, tallies, workloads

# By which a table's rows grow old; of the others age says nothing.
AGES: Final = {
    "audit": "at",
    "changes": "at",
    "events": "at",
    "explanations": "at",
    "idempotency": "created_at",
    "shapes": "created_at",
    "tokens": "created_at",
    "workloads": "created_at",
}


class TableFigures(NamedTuple):
    """`size`: bytes with indexes, where the database tells. `oldest`: of a row, where rows have an age."""

    name: str
    rows: int
    size: int | None
    oldest: dt.datetime | None


def tables(conn: Connection) -> list[TableFigures]:
    """Every table of the hub's, by name."""
    found = []
    for table in sorted(metadata.sorted_tables, key=lambda each: each.name):
        rows = count(conn, table)
        age: Column[dt.datetime] | None = table.c[AGES[table.name]] if table.name in AGES else None
        oldest = None if age is None else conn.execute(select(func.min(age))).scalar()
        found.append(TableFigures(table.name, rows, _size(conn, table.name), oldest))
    return found


def count(conn: Connection, table: Table) -> int:
    """The number of rows of a table."""
    return int(conn.execute(select(func.count()).select_from(table)).scalar_one())


def size(conn: Connection) -> int:
    """Bytes of the whole database."""
    if conn.dialect.name == "postgresql":
        asked = "SELECT pg_database_size(current_database())"
        return int(conn.exec_driver_sql(asked).scalar_one())
    pages, each = (
        int(conn.exec_driver_sql(f"PRAGMA {name}").scalar_one())
        for name in ("page_count", "page_size")
    )
    return pages * each


def miscounted(conn: Connection) -> list[str]:
    """Differences between the numbers of workloads that triggers keep and the rows; a few, in words."""
    c = workloads.c
    shown = c.deleted_at.is_(None) | c.live.is_not(None)
    rows = conn.execute(
        select(c.namespace, c.queue, c.state, shown, func.count()).group_by(
            c.namespace, c.queue, c.state, shown
        )
    )
    counted = {(n, q, s, bool(there)): int(number) for n, q, s, there, number in rows}
    kept = {
        (row.namespace, row.queue, row.state, bool(row.shown)): int(row.number)
        for row in conn.execute(select(tallies).where(tallies.c.number != 0))
    }
    return [
        f"{namespace}/{queue} {state}: {kept.get(key, 0)} for {counted.get(key, 0)}"
        for key in sorted({*counted, *kept})
        if kept.get(key, 0) != counted.get(key, 0)
        for namespace, queue, state, _ in (key,)
    ][:5]


def _size(conn: Connection, table: str) -> int | None:
    if conn.dialect.name != "postgresql":
        return None
    asked = text("SELECT pg_total_relation_size(CAST(:name AS regclass))")
    return int(conn.execute(asked, {"name": table}).scalar_one())

"""The form of a database: what its tables are like, and where it differs from what this release needs.

A revision's name alone proves nothing: a file may have been changed by hand or made by a release in
between. So the tables themselves are compared. Additions of others beside them (tables of a replicator, an
index) are ignored.

Every start runs this check, so it has to be cheap. SQLite keeps the text that each table and index was made
by: a file whose texts equal those of a new database needs no further look, and any other file (an upgraded
one, one changed by hand) is read column by column. PostgreSQL answers two catalog queries.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import StaticPool

from hub.store import driver, form_of_types
from hub.store.tables import metadata

_MOST_NAMED = 4


class _New(NamedTuple):
    """A new SQLite database: its facts, and the statement that makes each table and index, in order."""

    facts: frozenset[str]
    statements: Mapping[str, str]


def differences(conn: Connection) -> list[str]:
    """Missing parts, then different or extra ones; empty if the tables are the hub's."""
    if conn.dialect.name == "sqlite" and _texts(conn) == _new().statements:
        return []
    wanted, found = _needed(conn), facts(conn)
    missing = [f"{fact} is missing" for fact in sorted(wanted - found)]
    surplus = [f"{fact} is not known" for fact in sorted(found - wanted) if _matters(fact)]
    return missing + surplus


def lacking(conn: Connection) -> list[str]:
    """Required parts that are missing in any suitable form: additions do no harm."""
    return [f"{fact} is missing" for fact in sorted(unmet(_needed(conn), facts(conn)))]


def unmet(wanted: set[str], found: set[str]) -> set[str]:
    """The facts that are wanted and not there; a whole number may have become a larger one."""
    return {
        fact
        for fact in wanted - found
        if not (fact.startswith("column ") and fact.replace("(INTEGER", "(BIGINT") in found)
    }


def told(differing: list[str]) -> str:
    """A few of them in one line."""
    more = len(differing) - _MOST_NAMED
    return ", ".join(differing[:_MOST_NAMED]) + (f", and {more} more" if more > 0 else "")


def statements() -> Iterable[str]:
    """The DDL of all tables and indexes of a new SQLite database, in order."""
    return _new().statements.values()


def _needed(conn: Connection) -> set[str]:
    if conn.dialect.name != "sqlite":
        return set(form_of_types.declared(conn.dialect))
    return set(_new().facts)


@functools.cache
def _new() -> _New:
    """Made in memory once per process: the tables in the code do not change while it runs."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    try:
        with engine.begin() as made:
            metadata.create_all(made)
            return _New(frozenset(facts(made)), _texts(made))
    finally:
        engine.dispose()


def _texts(conn: Connection) -> dict[str, str]:
    """The statement that made each of the hub's tables, and each index on one, oldest first."""
    rows = _ask(
        conn,
        "SELECT name, tbl_name, sql FROM sqlite_master WHERE type <> 'trigger' ORDER BY rowid",
    )
    return {name: sql for name, table, sql in rows if sql and table in metadata.tables}


def facts(conn: Connection) -> set[str]:
    """One line for each column, index and constraint of the hub's tables."""
    if conn.dialect.name != "sqlite":
        return form_of_types.found(conn)
    present = {name for (name,) in _ask(conn, "SELECT name FROM sqlite_master WHERE type='table'")}
    facts: set[str] = set()
    for table in metadata.tables:
        if table in present:
            facts.add(f"table {table}")
            facts |= {_column(table, *row) for row in _ask(conn, f"PRAGMA table_info({table})")}
            facts |= {
                f"reference {table}.{source} to {target}.{column}"
                for _, _, target, source, column, *_ in _ask(
                    conn, f"PRAGMA foreign_key_list({table})"
                )
            }
            facts |= _indexes(conn, table)
    return facts


def _column(
    table: str, _at: int, name: str, kind: str, not_null: int, default: str | None, key: int
) -> str:
    given = "" if default is None else " default " + default.strip("'()")
    return (
        f"column {table}.{name} ({kind}{' not null' if not_null else ''}{given}"
        f"{f' key {key}' if key else ''})"
    )


def _indexes(conn: Connection, table: str) -> set[str]:
    facts = set()
    for _, name, unique, origin, partial in _ask(conn, f"PRAGMA index_list({table})"):
        if origin == "pk":
            continue
        columns = ", ".join(str(row[2]) for row in _ask(conn, f"PRAGMA index_info({name})"))
        condition = ""
        if partial:
            (sql,) = _ask(conn, "SELECT sql FROM sqlite_master WHERE name = ?", name)[0]
            condition = " where " + re.sub(r"\s+", " ", re.split(r"(?i)\swhere\s", sql)[1])
        kind = "unique" if unique else "index"
        facts.add(f"{kind} {table}({columns}){condition}")
    return facts


def _matters(fact: str) -> bool:
    """May what the hub does not know stop it from writing?"""
    return not fact.startswith("index ")


def _ask(conn: Connection, statement: str, *values: str) -> list[Any]:
    return driver.ask(conn, statement, values)

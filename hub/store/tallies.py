"""Counts of workloads, by namespace, LocalQueue and state: updated on change, not computed on request.

Triggers of the database keep the numbers, in the transaction that changes the rows and whoever writes
it; so they are never late and never wrong, and reading them costs as much as there are queues. The
triggers go with the table when a revision creates it again: every start checks them, and if they differ,
everything is counted once.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, select

from hub.store import driver, scoping
from hub.store.bulk import Bulk
from hub.store.lookup import Prepared
from hub.store.tables import tallies
from hub.store.transaction import Transaction

_IN_STATE: Final = Prepared(
    select(tallies.c.namespace, tallies.c.queue, func.sum(tallies.c.number))
    .where(tallies.c.state == bindparam("state"), tallies.c.number > 0)
    .group_by(tallies.c.namespace, tallies.c.queue)
)
_KEY: Final = ("namespace", "queue", "state", "shown")
_REMOVE_EMPTY: Final = Bulk(
    tallies.delete().where(
        *(tallies.c[name] == bindparam(f"b_{name}") for name in _KEY), tallies.c.number <= 0
    )
)
_FORGET_EMPTY: Final = "DELETE FROM tallies WHERE number <= 0"
_SHOWN: Final = "({row}.deleted_at IS NULL OR {row}.live IS NOT NULL)"
_NEW, _OLD = _SHOWN.format(row="NEW"), _SHOWN.format(row="OLD")
_ADD: Final = (
    "INSERT INTO tallies (namespace, queue, state, shown, number) "  # noqa: S608 - constants
    f"VALUES (NEW.namespace, NEW.queue, NEW.state, {_NEW}, 1) "
    "ON CONFLICT (namespace, queue, state, shown) DO UPDATE SET number = tallies.number + 1; "
)
_TAKE: Final = (
    "UPDATE tallies SET number = number - 1 WHERE namespace = OLD.namespace "  # noqa: S608 - constants
    f"AND queue = OLD.queue AND state = OLD.state AND shown = {_OLD}; "
)
_COLUMNS: Final = "state, queue, namespace, deleted_at, live"
_CHANGED: Final = (
    "OLD.state <> NEW.state OR OLD.queue <> NEW.queue OR OLD.namespace <> NEW.namespace "
    f"OR {_OLD} <> {_NEW}"
)
_SQLITE: Final = {
    "tally_added": f"AFTER INSERT ON workloads BEGIN {_ADD}END",
    "tally_changed": (
        f"AFTER UPDATE OF {_COLUMNS} ON workloads WHEN {_CHANGED} BEGIN {_TAKE}{_ADD}END"
    ),
    "tally_removed": f"AFTER DELETE ON workloads BEGIN {_TAKE}END",
}
# PostgreSQL: what a trigger does is a function. Its name ends in a mark of what all of them do.
_EVENTS: Final = {
    "tally_added": ("AFTER INSERT ON workloads FOR EACH ROW", _ADD),
    "tally_changed": (
        f"AFTER UPDATE OF {_COLUMNS} ON workloads FOR EACH ROW WHEN ({_CHANGED})",
        _TAKE + _ADD,
    ),
    "tally_removed": ("AFTER DELETE ON workloads FOR EACH ROW", _TAKE),
}
_MARK: Final = hashlib.sha256(repr(_EVENTS).encode()).hexdigest()[:12]
_COUNTED: Final = (
    "INSERT INTO tallies (namespace, queue, state, shown, number) "
    "SELECT namespace, queue, state, deleted_at IS NULL OR live IS NOT NULL, count(*) "
    "FROM workloads GROUP BY 1, 2, 3, 4"
)


_BY_STATE: Final = (
    select(tallies.c.state, func.sum(tallies.c.number))
    .where(tallies.c.shown.is_(True), tallies.c.number > 0)
    .group_by(tallies.c.state)
)
_ALL_BY_STATE: Final = Prepared(_BY_STATE)


def namespaces_with(tx: Transaction, state: str) -> frozenset[str]:
    """Namespaces that have workloads in a state."""
    query = select(tallies.c.namespace).where(tallies.c.state == state, tallies.c.number > 0)
    return frozenset(tx.conn.execute(query.distinct()).scalars())


def ensure(conn: Connection) -> None:
    """Check the triggers, at start; remove empty counters."""
    if conn.dialect.name == "sqlite":
        _ensure_sqlite(conn)
    else:
        _ensure_postgres(conn)
    driver.run(conn, _FORGET_EMPTY)


def remove(conn: Connection) -> None:
    """Take the triggers away, before a revision is undone; the next start of a hub makes its own."""
    if conn.dialect.name == "sqlite":
        for name in _SQLITE:
            conn.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        return
    for name, function in _found_in_postgres(conn).items():
        _drop_from_postgres(conn, name, function)


def trim(tx: Transaction, limit: int) -> int:
    """Delete at most `limit` numbers that have come down to nothing; how many."""
    c = tallies.c
    empty = (
        select(*(c[name].label(f"b_{name}") for name in _KEY)).where(c.number <= 0).limit(limit)
    )
    gone = [dict(row) for row in tx.conn.execute(empty).mappings()]
    _REMOVE_EMPTY.run(tx.conn, gone)
    return len(gone)


def _ensure_sqlite(conn: Connection) -> None:
    wanted = {name: f"CREATE TRIGGER {name} {rule}" for name, rule in _SQLITE.items()}
    rows = driver.ask(conn, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    found = {name: sql for name, sql in rows if name.startswith("tally_")}
    if found != wanted:
        for name in found:
            conn.exec_driver_sql(f"DROP TRIGGER {name}")
        _count(conn, wanted.values())


def _ensure_postgres(conn: Connection) -> None:
    found = _found_in_postgres(conn)
    if found == {name: f"{name}_{_MARK}" for name in _EVENTS}:
        return
    for name, function in found.items():
        _drop_from_postgres(conn, name, function)
    statements = []
    for name, (rule, deed) in _EVENTS.items():
        statements.append(
            f"CREATE OR REPLACE FUNCTION {name}_{_MARK}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {deed}RETURN NULL; END $$"
        )
        statements.append(f"CREATE TRIGGER {name} {rule} EXECUTE FUNCTION {name}_{_MARK}()")
    _count(conn, statements)


def _found_in_postgres(conn: Connection) -> dict[str, str]:
    """The triggers that are there, each with its function."""
    asked = (
        "SELECT t.tgname, p.proname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
        "WHERE t.tgrelid = 'workloads'::regclass AND t.tgname LIKE 'tally_%%'"
    )
    return {row.tgname: row.proname for row in conn.exec_driver_sql(asked)}


def _drop_from_postgres(conn: Connection, name: str, function: str) -> None:
    conn.exec_driver_sql(f"DROP TRIGGER {name} ON workloads")
    conn.exec_driver_sql(f"DROP FUNCTION IF EXISTS {function}()")


def _count(conn: Connection, statements: Iterable[str]) -> None:
    """Count everything once, and from then on by what `statements` make."""
    conn.execute(tallies.delete())
    conn.exec_driver_sql(_COUNTED)
    for statement in statements:
        conn.exec_driver_sql(statement)


def by_state(tx: Transaction) -> dict[str, int]:
    """The number of jobs in each state that are shown and that the caller may see."""
    if tx.scope.is_everything:
        rows: Iterable[Any] = _ALL_BY_STATE.rows(tx.conn)
    else:
        rows = tx.conn.execute(_BY_STATE.where(*scoping.of_tallies(tx)))
    return {state: int(number) for state, number in rows}


def in_state(tx: Transaction, state: str) -> list[tuple[str, str, int]]:
    """(namespace, queue, how many) of workloads in one state."""
    rows = _IN_STATE.rows(tx.conn, state=state)
    return [(namespace, queue, int(number)) for namespace, queue, number in rows]

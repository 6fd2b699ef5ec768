"""How many workloads there are, by namespace, LocalQueue and state: counted as they change, not when asked.

Triggers of the database keep the numbers, in the transaction that changes the rows and whoever writes
it; so they are never late and never wrong, and reading them costs as much as there are queues. The
triggers go with the table when a revision makes it anew: they are looked for at every start, and where
they are not as they should be, everything is counted once.
"""

from typing import Final

from sqlalchemy import Connection, func, select

from hub.store.tables import tallies
from hub.store.transaction import Transaction

_SHOWN: Final = "({row}.deleted_at IS NULL OR {row}.live IS NOT NULL)"
_NEW, _OLD = _SHOWN.format(row="NEW"), _SHOWN.format(row="OLD")
_ADD: Final = (
    "INSERT INTO tallies (namespace, queue, state, shown, number) "  # noqa: S608 - constants
    f"VALUES (NEW.namespace, NEW.queue, NEW.state, {_NEW}, 1) "
    "ON CONFLICT (namespace, queue, state, shown) DO UPDATE SET number = number + 1; "
)
_TAKE: Final = (
    "UPDATE tallies SET number = number - 1 WHERE namespace = OLD.namespace "  # noqa: S608 - constants
    f"AND queue = OLD.queue AND state = OLD.state AND shown = {_OLD}; "
)
_CHANGED: Final = (
    "OLD.state <> NEW.state OR OLD.queue <> NEW.queue OR OLD.namespace <> NEW.namespace "
    f"OR {_OLD} <> {_NEW}"
)
_TRIGGERS: Final = {
    "tally_added": f"AFTER INSERT ON workloads BEGIN {_ADD}END",
    "tally_changed": (
        "AFTER UPDATE OF state, queue, namespace, deleted_at, live ON workloads "
        f"WHEN {_CHANGED} BEGIN {_TAKE}{_ADD}END"
    ),
    "tally_removed": f"AFTER DELETE ON workloads BEGIN {_TAKE}END",
}
_COUNT: Final = (
    "INSERT INTO tallies (namespace, queue, state, shown, number) "
    "SELECT namespace, queue, state, deleted_at IS NULL OR live IS NOT NULL, count(*) "
    "FROM workloads GROUP BY 1, 2, 3, 4"
)


def ensure(conn: Connection) -> None:
    """See that the triggers are there, at start; what nobody is counted under any more goes."""
    wanted = {name: f"CREATE TRIGGER {name} {rule}" for name, rule in _TRIGGERS.items()}
    rows = conn.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    found = {name: sql for name, sql in rows.all() if name.startswith("tally_")}
    if found != wanted:
        for name in found:
            conn.exec_driver_sql(f"DROP TRIGGER {name}")
        conn.execute(tallies.delete())
        conn.exec_driver_sql(_COUNT)
        for statement in wanted.values():
            conn.exec_driver_sql(statement)
    conn.execute(tallies.delete().where(tallies.c.number <= 0))


def by_state(tx: Transaction) -> dict[str, int]:
    """How many jobs that are shown are in each state."""
    c = tallies.c
    rows = tx.conn.execute(
        select(c.state, func.sum(c.number))
        .where(c.shown.is_(True), c.number > 0)
        .group_by(c.state)
    )
    return {state: int(number) for state, number in rows}


def in_state(tx: Transaction, state: str) -> list[tuple[str, str, int]]:
    """(namespace, queue, how many) of workloads in one state."""
    c = tallies.c
    rows = tx.conn.execute(
        select(c.namespace, c.queue, func.sum(c.number))
        .where(c.state == state, c.number > 0)
        .group_by(c.namespace, c.queue)
    )
    return [(namespace, queue, int(number)) for namespace, queue, number in rows]

"""Narrows integers of PostgreSQL to 32 bits for a downgrade to a revision before they were wide.

The revision that widens them (`2026_11_23_wide_numbers`) leaves them so when it is undone, and it has landed.
Earlier hubs run beside wide columns; a database of this release's own revision must have its columns.
"""

from typing import Final

from sqlalchemy import Connection, text

WIDENED_BY: Final = "2026_11_23_wide_numbers"
COLUMNS: Final = {
    "bindings": ("affinity_score", "topology_score"),
    "idempotency": ("status",),
    "snapshots": ("index",),
    "workloads": (
        *("parallelism", "completions", "ttl_s", "epoch", "succeeded", "failed", "active"),
        *("ready", "requeues", "max_runtime_s", "ran_s", "new_nodes"),
    ),
    "works": ("epoch",),
}


def narrow(conn: Connection) -> None:
    """Alter them. Raises sqlalchemy.exc.DataError where a number needs more than 32 bits."""
    if conn.dialect.name != "postgresql":
        return
    for table, columns in COLUMNS.items():
        changes = ", ".join(f'ALTER COLUMN "{column}" TYPE integer' for column in columns)
        conn.execute(text(f"ALTER TABLE {table} {changes}"))

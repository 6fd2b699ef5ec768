"""The facts of `hub.store.form` on PostgreSQL: what is declared, and what the catalog says is there."""

import functools
from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Connection, Dialect, Index, UniqueConstraint
from sqlalchemy.types import TypeEngine

from hub.store import driver
from hub.store.tables import metadata

# Tables of the schema that the hub's own are made in. format_type spells a type as SQL does, in small
# letters but for the name that SQLAlchemy shortens.
_OURS: Final = (
    "c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) "
    "AND c.relkind IN ('r', 'p')"
)
_COLUMNS: Final = (
    "SELECT c.relname, a.attname, "  # noqa: S608 - constants
    "replace(upper(format_type(a.atttypid, a.atttypmod)), 'CHARACTER VARYING', 'VARCHAR') "
    "|| coalesce(' COLLATE ' || quote_ident(k.collname), ''), a.attnotnull "
    "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
    "JOIN pg_type t ON t.oid = a.atttypid "
    "LEFT JOIN pg_collation k ON k.oid = a.attcollation AND k.oid <> t.typcollation "
    f"WHERE {_OURS} AND a.attnum > 0 AND NOT a.attisdropped"
)
_INDEXES: Final = (
    "SELECT c.relname, "  # noqa: S608 - constants
    "ARRAY(SELECT pg_get_indexdef(i.indexrelid, n, true) FROM generate_series(1, i.indnkeyatts) n), "
    "i.indisprimary, i.indisunique, i.indpred IS NOT NULL "
    f"FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid WHERE {_OURS}"
)


@functools.lru_cache(maxsize=4)
def declared(dialect: Dialect) -> frozenset[str]:
    """The required parts of this release's tables, which do not change while it runs."""
    facts: set[str] = set()
    for name, table in metadata.tables.items():
        facts.add(f"table {name}")
        keys = [column.name for column in table.primary_key]
        facts.add(f"key {name}({', '.join(keys)})")
        for column in table.columns:
            facts.add(_column(name, column.name, column.type, dialect, null=bool(column.nullable)))
        for index in table.indexes:
            facts.add(_index(name, [c.name for c in index.columns], partial=_is_partial(index)))
        for constraint in table.constraints:
            if isinstance(constraint, UniqueConstraint):
                facts.add(_unique(name, [column.name for column in constraint.columns]))
    return frozenset(facts)


def found(conn: Connection) -> set[str]:
    """The hub's tables in this database."""
    facts: set[str] = set()
    for table, name, kind, not_null in driver.ask(conn, _COLUMNS):
        if table in metadata.tables:
            facts.add(f"table {table}")
            facts.add(_spelled(table, name, kind, null=not not_null))
    for table, columns, primary, unique, partial in driver.ask(conn, _INDEXES):
        if table not in metadata.tables:
            continue
        if primary:
            facts.add(f"key {table}({', '.join(columns)})")
        elif unique:
            facts.add(_unique(table, columns))
        else:
            facts.add(_index(table, columns, partial=partial))
    return facts


def _column(
    table: str, name: str, kind: TypeEngine[object], dialect: Dialect, *, null: bool
) -> str:
    return _spelled(table, name, kind.compile(dialect), null=null)


def _spelled(table: str, name: str, kind: str, *, null: bool) -> str:
    return f"column {table}.{name} ({kind}{'' if null else ' not null'})"


def _index(table: str, columns: Sequence[str], *, partial: bool) -> str:
    return f"index {table}({', '.join(columns)}){' where …' if partial else ''}"


def _unique(table: str, columns: Iterable[str]) -> str:
    return f"unique {table}({', '.join(columns)})"


def _is_partial(index: Index) -> bool:
    return index.dialect_options["postgresql"].get("where") is not None

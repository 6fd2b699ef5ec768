"""The facts of `hub.store.form` where SQLAlchemy reads the catalog: what is declared, and what is there."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Dialect, Index, UniqueConstraint, inspect
from sqlalchemy.types import TypeEngine

from hub.store.tables import metadata


def declared(dialect: Dialect) -> set[str]:
    """What the tables of this release need."""
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
    return facts


def found(conn: Connection) -> set[str]:
    """What the hub's tables in this database are."""
    seen = inspect(conn)
    facts: set[str] = set()
    for name in set(seen.get_table_names()) & metadata.tables.keys():
        facts.add(f"table {name}")
        facts.add(f"key {name}({', '.join(seen.get_pk_constraint(name)['constrained_columns'])})")
        for column in seen.get_columns(name):
            facts.add(
                _column(
                    name, column["name"], column["type"], conn.dialect, null=column["nullable"]
                )
            )
        unique = {each["name"] for each in seen.get_unique_constraints(name)}
        facts |= {
            _unique(name, each["column_names"]) for each in seen.get_unique_constraints(name)
        }
        for index in seen.get_indexes(name):
            if index["name"] in unique:
                continue
            columns = [str(column) for column in index["column_names"]]
            partial = "postgresql_where" in index.get("dialect_options", {})
            facts.add(
                _unique(name, columns)
                if index["unique"]
                else _index(name, columns, partial=partial)
            )
    return facts


def _column(
    table: str, name: str, kind: TypeEngine[object], dialect: Dialect, *, null: bool
) -> str:
    spelled = kind.dialect_impl(dialect).compile(dialect)
    return f"column {table}.{name} ({spelled}{'' if null else ' not null'})"


def _index(table: str, columns: Sequence[str], *, partial: bool) -> str:
    return f"index {table}({', '.join(columns)}){' where …' if partial else ''}"


def _unique(table: str, columns: Iterable[str]) -> str:
    return f"unique {table}({', '.join(columns)})"


def _is_partial(index: Index) -> bool:
    return index.dialect_options["postgresql"].get("where") is not None

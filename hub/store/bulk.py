"""One statement for many rows, without what SQLAlchemy spends on each row.

A `Bulk` is a Core statement compiled once per dialect; rows go to the driver as tuples made column by
column. On the job path this is several times as fast as `Connection.execute` with a list.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Dialect, Table, bindparam
from sqlalchemy.sql.dml import Delete, Insert, Update

from hub.store import dialect as spelled, driver
from shared.documents import JsonView

Convert = Callable[[Any], Any] | None


class Record(Protocol):
    """A named tuple."""

    @property
    def _fields(self) -> tuple[str, ...]: ...

    def __iter__(self) -> Iterator[object]: ...


Compiled = tuple[str, list[tuple[str, Convert]]]


class Bulk:
    """`statement`, to be run for rows that hold a value for each of its bound parameters.

    All rows name the same parameters; one that they lack is what `defaults` says, else None.
    """

    def __init__(
        self, statement: Insert | Update | Delete, defaults: JsonView | None = None
    ) -> None:
        self._statement = statement
        self._defaults = defaults or {}
        self._compiled: WeakKeyDictionary[Dialect, Compiled] = WeakKeyDictionary()
        self._constants: JsonView = {}  # values that the statement itself holds

    @classmethod
    def insert(cls, table: Table, without: frozenset[str] = frozenset()) -> "Bulk":
        """INSERT of all columns of `table` but those in `without`; scalar defaults apply."""
        columns = [column for column in table.columns if column.name not in without]
        return cls(
            table.insert().values(
                {column.name: bindparam(column.name, type_=column.type) for column in columns}
            ),
            {
                column.name: getattr(column.default, "arg", None)
                for column in columns
                if column.default is not None and column.default.is_scalar
            },
        )

    def run_records(self, conn: Connection, records: Sequence[Record]) -> int:
        """Execute for every record, whose fields are the bound parameters, as `run` does."""
        if not records:
            return 0
        sql, parameters = self._of(conn.dialect)
        by_name = dict(zip(records[0]._fields, zip(*records, strict=True), strict=True))
        columns = [_converted(list(by_name[name]), convert) for name, convert in parameters]
        return driver.run_many(conn, sql, list(zip(*columns, strict=True)))

    def run(self, conn: Connection, rows: Sequence[JsonView]) -> int:
        """Execute for every row; the number of rows that the database says were affected."""
        if not rows:
            return 0
        sql, parameters = self._of(conn.dialect)
        columns = [
            _converted(
                [row[name] for row in rows]
                if name in rows[0]
                else [self._defaults.get(name, self._constants.get(name))] * len(rows),
                convert,
            )
            for name, convert in parameters
        ]
        return driver.run_many(conn, sql, list(zip(*columns, strict=True)))

    def _of(self, dialect: Dialect) -> Compiled:
        if dialect not in self._compiled:  # of one engine: its keys are in what converts
            compiled = self._statement.compile(dialect=dialect)
            self._constants = {
                name: value for name, value in compiled.params.items() if value is not None
            }
            self._compiled[dialect] = (
                str(compiled),
                [
                    (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
                    for name in compiled.positiontup or ()
                ],
            )
        return self._compiled[dialect]


class Upsert:
    """INSERT of all columns of `table`; a row with the same `keys` takes the new values, but keeps `kept`."""

    def __init__(
        self,
        table: Table,
        keys: Sequence[str],
        *,
        kept: Sequence[str] = (),
        defaults: JsonView | None = None,
    ) -> None:
        self._table = table
        self._keys = tuple(keys)
        self._kept = frozenset((*keys, *kept))
        self._defaults = defaults
        self._bulk: dict[str, Bulk] = {}  # by the name of the dialect, which spells conflicts

    def run(self, conn: Connection, rows: Sequence[JsonView]) -> int:
        """Execute for every row, as `Bulk.run` does."""
        name = conn.dialect.name
        if name not in self._bulk:
            self._bulk[name] = Bulk(self._statement(conn), self._defaults)
        return self._bulk[name].run(conn, rows)

    def _statement(self, conn: Connection) -> Insert:
        columns = self._table.columns
        statement = spelled.insert(conn, self._table).values(
            {column.name: bindparam(column.name, type_=column.type) for column in columns}
        )
        return statement.on_conflict_do_update(
            index_elements=list(self._keys),
            set_={
                column.name: statement.excluded[column.name]
                for column in columns
                if column.name not in self._kept
            },
        )


def _converted(values: list[Any], convert: Convert) -> list[Any]:
    """What the driver takes; neighbours that are one object (a transaction's instant) are converted once."""
    if convert is None:
        return values
    last: Any = None
    done = convert(None)
    for place, value in enumerate(values):
        if value is not last:
            last, done = value, convert(value)
        values[place] = done
    return values

"""Frequent queries, without SQLAlchemy's overhead for each execution.

A `Prepared` is a Core SELECT compiled once for each engine; a `Lookup` is one with many keys, bound as one
parameter whatever their number. Where a query finds a handful of rows, as on the job path, this is several
times as fast as `Connection.execute`: building a statement, its cache key and its result cost 100 to 150 µs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, Connection, Dialect, Select

from hub.store import dialect as spelled, driver
from hub.store.driver import Row
from shared.documents import Json

Among = Callable[..., ColumnElement[bool]]  # of one column of text, or of two
Value = Any  # of a column, or of a bound parameter
Query = Select[Any]
Convert = Callable[[Value], Value]


class Lookup:
    """`statement(among)` is the query; in it, `among(column)` says which column holds the keys.

    With `among(first, second)` the keys are pairs. Further bound parameters are named when it is run.
    """

    def __init__(self, statement: Callable[[Among], Query]) -> None:
        self._statement = statement
        self._compiled: WeakKeyDictionary[Dialect, _Compiled] = WeakKeyDictionary()

    def rows(
        self, conn: Connection, keys: Iterable[str] | Iterable[tuple[str, str]], **bound: Value
    ) -> list[Row]:
        """The rows found, in no order, as tuples of the columns' Python values."""
        wanted = keys if isinstance(keys, Collection) else list(keys)
        if not wanted:
            return []
        found = self._compiled.get(conn.dialect)
        if found is None:  # of one engine: its keys are in what converts
            found = self._compiled[conn.dialect] = _Compiled(self._statement, conn.dialect)
        return found.rows(conn, wanted, bound)


class Prepared:
    """`statement`, whose bound parameters without a value are named when it is run."""

    def __init__(self, statement: Query) -> None:
        self._statement = statement
        self._compiled: WeakKeyDictionary[Dialect, _Statement] = WeakKeyDictionary()

    def rows(self, conn: Connection, **bound: Value) -> list[Row]:
        """The rows found, in the order of the query, as tuples of the columns' Python values."""
        return self._of(conn.dialect).rows(conn, bound)

    def batches(self, conn: Connection, size: int, **bound: Value) -> Iterator[Sequence[Row]]:
        """The rows found, `size` at a time, as the driver gives them: no value is converted."""
        return self._of(conn.dialect).batches(conn, size, bound)

    def scalars(self, conn: Connection, **bound: Value) -> list[Value]:
        """The first column of each row."""
        return [row[0] for row in self.rows(conn, **bound)]

    def scalar(self, conn: Connection, **bound: Value) -> Value:
        """The first column of the first row; None without a row."""
        return next(iter(self.scalars(conn, **bound)), None)

    def _of(self, dialect: Dialect) -> "_Statement":
        found = self._compiled.get(dialect)
        if found is None:  # of one engine: its keys are in what converts
            found = self._compiled[dialect] = _Statement(self._statement, dialect)
        return found


class _Statement:
    """A dialect's form of a prepared query."""

    def __init__(self, query: Query, dialect: Dialect) -> None:
        compiled = query.compile(dialect=dialect)
        later = {name: None for name, each in compiled.binds.items() if each.required}
        spread = compiled.construct_expanded_state(later)  # lists that are constants, as of states
        self._sql = spread.statement
        self._names = list(spread.positiontup or ())
        self._binds: Json = {}
        for name, each in compiled.binds.items():
            convert = each.type.dialect_impl(dialect).bind_processor(dialect)
            if convert is not None:
                self._binds[name] = convert
        self._constants = {name: self._bound(name, v) for name, v in spread.parameters.items()}
        found = [
            each.type.dialect_impl(dialect).result_processor(dialect, None)
            for each in query.selected_columns
        ]
        self._converts: list[tuple[int, Convert]] = [
            (place, convert) for place, convert in enumerate(found) if convert is not None
        ]

    def _bound(self, name: str, value: Value) -> Value:
        convert = self._binds.get(name)
        return value if convert is None else convert(value)

    def _parameters(self, bound: Json) -> Row:
        given = self._constants
        if bound:
            given = {**given, **{name: self._bound(name, v) for name, v in bound.items()}}
        return tuple(given[name] for name in self._names)

    def batches(self, conn: Connection, size: int, bound: Json) -> Iterator[Sequence[Row]]:
        return driver.batches(conn, self._sql, self._parameters(bound), size)

    def rows(self, conn: Connection, bound: Json) -> list[Row]:
        found = driver.ask(conn, self._sql, self._parameters(bound))
        return found if not self._converts else [_converted(row, self._converts) for row in found]


class _Compiled:
    """A dialect's form of a lookup."""

    def __init__(self, statement: Callable[[Among], Query], dialect: Dialect) -> None:
        self._dialect = dialect.name
        self._pairs = False
        query = statement(self._among)
        compiled = query.compile(dialect=dialect)
        self._sql = str(compiled)
        self._constants = dict(compiled.params)
        self._names = list(compiled.positiontup or ())
        found = [
            each.type.dialect_impl(dialect).result_processor(dialect, None)
            for each in query.selected_columns
        ]
        self._converts: list[tuple[int, Convert]] = [
            (place, convert) for place, convert in enumerate(found) if convert is not None
        ]

    def _among(self, *columns: ColumnElement[str]) -> ColumnElement[bool]:
        self._pairs = len(columns) == 2
        spell = spelled.among_pairs if self._pairs else spelled.among
        return spell(self._dialect, *columns)

    def rows(self, conn: Connection, keys: Value, bound: Json) -> list[Row]:
        packed = spelled.pair_list(keys) if self._pairs else spelled.key_list(self._dialect, keys)
        given = {**self._constants, **bound, spelled.KEYS: packed}
        found = driver.ask(conn, self._sql, tuple(given[name] for name in self._names))
        return found if not self._converts else [_converted(row, self._converts) for row in found]


def _converted(row: Row, converts: list[tuple[int, Convert]]) -> Row:
    values = list(row)
    for place, convert in converts:
        values[place] = convert(values[place])
    return tuple(values)

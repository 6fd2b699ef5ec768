"""One query for many keys, without what SQLAlchemy spends on each execution.

A `Lookup` is a Core SELECT compiled once per dialect, its keys bound as one parameter whatever their
number. On the job path, where a query finds a handful of rows, this is several times as fast as
`Connection.execute` with an expanding IN.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Dialect, Select

from hub.store import dialect as spelled
from shared.documents import Json

Among = Callable[..., ColumnElement[bool]]  # of one column of text, or of two
Convert = Callable[[Any], Any]
Row = tuple[Any, ...]


class Lookup:
    """`statement(among)` is the query; in it, `among(column)` says which column holds the keys.

    With `among(first, second)` the keys are pairs. Further bound parameters are named when it is run.
    """

    def __init__(self, statement: Callable[[Among], Select[Any]]) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def rows(
        self, conn: Connection, keys: Iterable[str] | Iterable[tuple[str, str]], **bound: Any
    ) -> list[Row]:
        """The rows found, in no order, as tuples of the columns' Python values."""
        wanted = keys if isinstance(keys, Collection) else list(keys)
        if not wanted:
            return []
        name = conn.dialect.name
        if name not in self._compiled:
            self._compiled[name] = _Compiled(self._statement, conn.dialect)
        return self._compiled[name].rows(conn, wanted, bound)


class _Compiled:
    """What a dialect makes of a lookup."""

    def __init__(self, statement: Callable[[Among], Select[Any]], dialect: Dialect) -> None:
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

    def rows(self, conn: Connection, keys: Any, bound: Json) -> list[Row]:
        packed = spelled.pair_list(keys) if self._pairs else spelled.key_list(self._dialect, keys)
        given = {**self._constants, **bound, spelled.KEYS: packed}
        result = conn.exec_driver_sql(self._sql, tuple(given[name] for name in self._names))
        found = list(result.cursor.fetchall())
        result.close()
        if not self._converts:
            return found
        return [self._converted(row) for row in found]

    def _converted(self, row: Row) -> Row:
        values = list(row)
        for place, convert in self._converts:
            values[place] = convert(values[place])
        return tuple(values)

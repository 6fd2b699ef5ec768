"""The SQLite dialect whose compiled statements all engines of a process share.

SQLAlchemy keeps compiled statements per dialect object, and each engine has its own. A hub opens three
engines on its file (the start, the writer, the readers), and a process that opens several files repeats that
for each. Here dialects are equal where they compile a statement alike, and one bounded cache serves all of
them. A compiled statement seals columns by its dialect's keys: others with other keys are not equal.
"""

from typing import Any, Final

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from hub.store.columns import keys_of

DRIVER: Final = "sqlite+roadstead"
_KEPT: Final = 2000  # statements; a hub has a few hundred
SHARED: Final[dict[str, Any]] = {
    "compiled_cache": LRUCache(_KEPT)
}  # execution options of an engine


class SharedSqlite(SQLiteDialect_pysqlite):
    """SQLite by the driver of the standard library."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedSqlite) and keys_of(self) is keys_of(other)

    def __hash__(self) -> int:
        return hash(SharedSqlite)


registry.register("sqlite.roadstead", __name__, SharedSqlite.__name__)

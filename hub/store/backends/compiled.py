"""Dialects whose compiled statements all engines of a process share.

SQLAlchemy keeps compiled statements per dialect object, and each engine has its own. A hub opens two engines
on its database (the writer's, the readers') and one more to follow a server, and a process that opens several
databases repeats that for each. Here dialects are equal where they compile a statement alike, and one bounded
cache for each kind of database serves all of them. A compiled statement seals columns by its dialect's keys:
others with other keys are not equal.
"""

from typing import Final

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from hub.store.columns import keys_of
from shared.documents import Json

SQLITE: Final = "sqlite+roadstead"
POSTGRES: Final = "postgresql+roadstead"
_KEPT: Final = 2000  # statements; a hub has a few hundred
# Execution options of an engine.
OF_SQLITE: Final[Json] = {"compiled_cache": LRUCache(_KEPT)}
OF_POSTGRES: Final[Json] = {"compiled_cache": LRUCache(_KEPT)}


class SharedSqlite(SQLiteDialect_pysqlite):
    """SQLite by the driver of the standard library."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedSqlite) and keys_of(self) is keys_of(other)

    def __hash__(self) -> int:
        return hash(SharedSqlite)


class SharedPostgres(PGDialect_psycopg):
    """PostgreSQL by psycopg; the first connection asks which version the server is."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SharedPostgres)
            and keys_of(self) is keys_of(other)
            and self.server_version_info == other.server_version_info
            and self._backslash_escapes == other._backslash_escapes
        )

    def __hash__(self) -> int:
        return hash(SharedPostgres)


registry.register("sqlite.roadstead", __name__, SharedSqlite.__name__)
registry.register("postgresql.roadstead", __name__, SharedPostgres.__name__)

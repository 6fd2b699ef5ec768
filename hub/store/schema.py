"""Brings a database to the newest schema: a new one at once, an older one revision by revision.

A new database is made from the tables as they are and marked with the newest revision, which is much
faster than going through all of them; a test holds the two ways equal.
"""

from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from hub.store import form, tallies
from hub.store.errors import StoreError
from hub.store.tables import metadata

HEAD: Final = "2026_11_22_api_servers"
_VERSIONS: Final = "alembic_version"


class UnknownSchema(StoreError):
    """The database is of a newer release than this one, or not the hub's."""


def migrate(conn: Connection) -> None:
    """Create the tables, or upgrade them. Raises UnknownSchema, also for tables that differ from ours."""
    present = set(inspect(conn).get_table_names())
    if not present:
        metadata.create_all(conn)
        conn.execute(
            text(
                f"CREATE TABLE {_VERSIONS} (version_num VARCHAR(32) NOT NULL, "
                f"CONSTRAINT {_VERSIONS}_pkc PRIMARY KEY (version_num))"
            )
        )
        conn.execute(
            text(f"INSERT INTO {_VERSIONS} VALUES (:head)"),  # noqa: S608 - a constant
            {"head": HEAD},
        )
        tallies.ensure(conn)
        return
    if _VERSIONS not in present:
        raise UnknownSchema("the database holds tables that are not the hub's")
    _bring_up(conn)
    if differing := form.differences(conn):
        raise UnknownSchema(
            f"the database says that it is at revision {HEAD} and is not: {form.told(differing)}; "
            "restore a backup, or start the release that made it"
        )
    tallies.ensure(conn)


def _bring_up(conn: Connection) -> None:
    found = conn.execute(text(f"SELECT version_num FROM {_VERSIONS}")).scalar()  # noqa: S608 - a constant
    if found != HEAD:
        _upgrade(conn, str(found))


def configuration(conn: Connection) -> Any:
    """Alembic's configuration over an open connection."""
    from alembic.config import Config  # noqa: PLC0415 - seldom needed, slow to import

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = conn
    return config


def _upgrade(conn: Connection, found: str) -> None:
    from alembic import command  # noqa: PLC0415 - seldom needed, slow to import
    from alembic.util import CommandError  # noqa: PLC0415

    try:
        command.upgrade(configuration(conn), "head")
    except CommandError as error:
        raise UnknownSchema(f"the database is at revision {found}: {error}") from error
    except (SQLAlchemyError, KeyError, ValueError) as error:  # its tables are not that revision's
        cause = str(getattr(error, "orig", error))
        raise UnknownSchema(
            f"the database says that it is at revision {found} and is not: {cause}; "
            "restore a backup, or start the release that made it"
        ) from error

"""Brings a database to the newest schema: a new one at once, an older one revision by revision.

A new database is made from the tables as they are and marked with the newest revision, which is much
faster than going through all of them; a test holds the two ways equal. An older hub may start on a newer
schema that declares it (`hub.store.compatibility`).
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from hub.store import compatibility, driver, form, narrowing, tallies
from hub.store.errors import REMEDY, StoreError
from hub.store.lookup import Prepared
from hub.store.tables import metadata, workloads

HEAD: Final = "2026_11_30_kind_versions"
# Revisions whose hubs may run on a database at HEAD: what came since only expands. Empty after a revision
# that contracts.
BESIDE: Final = (
    "2026_11_30_kinds",
    "2026_11_30_facts",
    "2026_11_30_decisions",
    "2026_11_29_unstarted",
    "2026_11_29_namespaces",
    "2026_11_27_after",
    "2026_11_26_people",
    "2026_11_24_rollouts",
    "2026_11_23_wide_numbers",
    "2026_11_23_credentials",
    "2026_11_23_replicas",
)
# PostgreSQL's databases begin here: nothing is older.
FIRST_OF_POSTGRES: Final = "2026_11_23_replicas"
_VERSIONS: Final = "alembic_version"
_SCRIPTS: Final = Path(__file__).parent / "migrations"
_NEWER_WORK: Final = Prepared(
    select(workloads.c.uid).where(workloads.c.kind.not_in(["Job", "Workload"])).limit(1)
)
_MIGRATE: Final = "roadstead admin migrate"


class UnknownSchema(StoreError):
    """The database is of a newer release than this one, or not the hub's."""


class SchemaBehind(StoreError):
    """The database is older than this release, and may not be changed now."""


def migrate(conn: Connection, *, allowed: bool = True, running: Collection[str] = ()) -> bool:
    """See that a hub of this release can run on the database: create the tables, or upgrade them.

    `allowed`: whether anything may be changed. `running`: revisions of the other hubs that run on it now.
    True where tables were altered below them. Raises UnknownSchema, also for tables that differ from
    ours; SchemaBehind.
    """
    found = revision(conn)
    if found is not None and not is_known(found):
        _run_beside(conn, found)
        return False
    if found != HEAD:
        _refuse_to_change(found, allowed=allowed, running=running)
        create(conn) if found is None else _upgrade(conn, found)
    if differing := form.differences(conn):
        raise UnknownSchema(
            f"the database says that it is at revision {HEAD} and is not: {form.told(differing)}; "
            "restore a backup, or start the release that made it"
        )
    tallies.ensure(conn)
    compatibility.tell(conn, HEAD, () if _has_newer_work(conn) else BESIDE)
    return found not in {None, HEAD} and bool(running)


def _has_newer_work(conn: Connection) -> bool:
    """Whether there is work of kinds that the hubs of `BESIDE` would take for Jobs (`newer_work`)."""
    return bool(_NEWER_WORK.rows(conn))


def revision(conn: Connection) -> str | None:
    """At which revision the database is; None for one without tables.

    Raises UnknownSchema: the tables are not the hub's, or they name several revisions.
    """
    present = _tables(conn)
    if not present:
        return None
    if _VERSIONS not in present:
        raise UnknownSchema("the database holds tables that are not the hub's")
    named = [name for (name,) in driver.ask(conn, f"SELECT version_num FROM {_VERSIONS}")]  # noqa: S608 - a constant
    if len(named) > 1:
        raise UnknownSchema(
            f"the database names {len(named)} revisions in table {_VERSIONS} ({', '.join(sorted(named))}), "
            f"and has one: {REMEDY}, or delete the rows of the others"
        )
    return str(named[0]) if named else str(None)


def _tables(conn: Connection) -> set[str]:
    """The names of all tables but SQLite's own."""
    if conn.dialect.name != "sqlite":
        return set(inspect(conn).get_table_names())
    found = driver.ask(conn, "SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in found if not name.startswith("sqlite_")}


def is_known(name: str) -> bool:
    """True if this release has that revision, which has its own file."""
    return "/" not in name and (_SCRIPTS / "versions" / f"{name}.py").is_file()


def downgrade(conn: Connection, to: str, running: Collection[str] = ()) -> None:
    """Take a database of this release back to the older revision `to`, for the release of that day.

    Raises UnknownSchema where that can not be done; SchemaBehind while hubs run on it.
    """
    found = revision(conn)
    if found is None or not is_known(found):
        raise UnknownSchema(
            f"the database is at revision {found}, which this release does not know"
        )
    if running:
        raise SchemaBehind("hubs are running on the database: stop them first")
    older = _older_than(conn, found)
    if to not in older:
        known = ", ".join(older) or "none"
        raise UnknownSchema(f"{found} can not be taken back to {to}; older revisions are: {known}")
    tallies.remove(conn)
    compatibility.forget(conn)
    _run(conn, "downgrade", to, found)
    if to in _older_than(conn, narrowing.WIDENED_BY):
        _run_narrowing(conn, to)


def configuration(conn: Connection) -> Any:
    """Alembic's configuration over an open connection."""
    from alembic.config import Config  # noqa: PLC0415 - seldom needed, slow to import

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = conn
    return config


def create(conn: Connection) -> None:
    """Make the tables of this release, and mark them; triggers come with the first start of a hub."""
    if conn.dialect.name == "sqlite":
        for statement in form.statements():
            conn.exec_driver_sql(statement)
    else:
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


def _run_beside(conn: Connection, found: str) -> None:
    """A newer schema: fine if it says so and has the parts for this release. Raises UnknownSchema."""
    if HEAD not in compatibility.beside(conn, found):
        raise UnknownSchema(
            f"the database is at revision {found}, of a newer release, beside which this one ({HEAD}) "
            f"does not run: start that release, or have it take the database back with "
            f"`{_MIGRATE} --down {HEAD}`"
        )
    if missing := form.lacking(conn):
        raise UnknownSchema(
            f"the database is at revision {found}, of a newer release, and {form.told(missing)}"
        )


def _refuse_to_change(found: str | None, *, allowed: bool, running: Collection[str]) -> None:
    """Raises SchemaBehind where the database may not be changed, or not beside those that run."""
    if not allowed:
        what = "is empty" if found is None else f"is at revision {found}"
        raise SchemaBehind(f"the database {what}, this release needs {HEAD}: run `{_MIGRATE}`")
    # Hubs before this rule do not declare their revision: they run on the present one.
    others = {each or found for each in running} - {HEAD, *BESIDE}
    if others:
        told = ", ".join(sorted(str(each) for each in others))
        raise SchemaBehind(
            f"hubs of revision {told} are running on the database, beside which {HEAD} can not be: "
            "stop them first, then start this release"
        )


def _upgrade(conn: Connection, found: str) -> None:
    _run(conn, "upgrade", "head", found)


def _older_than(conn: Connection, found: str) -> list[str]:
    """The revisions that a database at `found` can go back to, the newest first."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - seldom needed, slow to import

    scripts = ScriptDirectory.from_config(configuration(conn))
    older = [each.revision for each in scripts.iterate_revisions(found, "base")][1:]
    if conn.dialect.name == "postgresql":
        last = older.index(FIRST_OF_POSTGRES) + 1 if FIRST_OF_POSTGRES in older else 0
        older = older[:last]
    return older


def _run(conn: Connection, which: str, to: str, found: str) -> None:
    from alembic import command  # noqa: PLC0415 - seldom needed, slow to import
    from alembic.util import CommandError  # noqa: PLC0415 - as above

    try:
        getattr(command, which)(configuration(conn), to)
    except CommandError as error:
        raise UnknownSchema(f"the database is at revision {found}: {error}") from error
    except (SQLAlchemyError, KeyError, ValueError) as error:  # its tables are not that revision's
        if which == "downgrade":
            raise _not_back(to, error) from error
        raise UnknownSchema(
            f"the database says that it is at revision {found} and is not: {_cause(error)}; "
            "restore a backup, or start the release that made it"
        ) from error


def _run_narrowing(conn: Connection, to: str) -> None:
    try:
        narrowing.narrow(conn)
    except SQLAlchemyError as error:
        raise _not_back(to, error) from error


def _not_back(to: str, error: Exception) -> UnknownSchema:
    return UnknownSchema(f"it can not be taken back to {to}: {_cause(error)}")


def _cause(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", error)).split())

"""The schema: new databases, upgraded ones and the tables in the code are the same."""

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from hub.store import form, schema
from hub.store.backends.choose import backend_of
from hub.store.tables import metadata
from tests.databases import url_of
from tests.store.build import START, a_work, a_workload

# No database of PostgreSQL is older than the revision after this one.
FIRST_OF_POSTGRES = "2026_11_22_api_servers"
BEFORE_KINDS = "2026_11_30_facts"
BEFORE_KIND_VERSIONS = "2026_11_30_kinds"


@pytest.fixture
def conn(tmp_path):
    engine = backend_of(url_of(tmp_path)).writer_engine()
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":  # tests look at another database meanwhile
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        yield connection
    engine.dispose()


def _folder(parent, name):
    (parent / name).mkdir()
    return parent / name


def _described(connection):
    """What there is besides columns: of SQLite every table's SQL, its whitespace and quotes aside."""
    if connection.dialect.name != "sqlite":
        return form.differences(connection)
    rows = connection.execute(text("SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL"))
    return {
        (kind, name): "".join(sql.replace('"', "").split())
        for kind, name, sql in rows
        if "alembic" not in name
    }


def test_a_new_database_is_at_the_newest_revision(conn):
    """What `migrate` writes down is what the scripts end in."""
    schema.migrate(conn)
    scripts = ScriptDirectory.from_config(schema.configuration(conn))
    assert scripts.get_current_head() == schema.HEAD
    command.check(schema.configuration(conn))


def test_going_through_the_revisions_gives_the_same_tables(tmp_path, conn):
    """Upgrading from nothing equals creating at once."""
    schema.migrate(conn)
    other = backend_of(url_of(_folder(tmp_path, "other"))).writer_engine()
    with other.begin() as upgraded:
        command.upgrade(schema.configuration(upgraded), "head")
        command.check(schema.configuration(upgraded))
        schema.migrate(upgraded)  # triggers belong to no revision
        assert sorted(_described(upgraded)) == sorted(_described(conn))
        for table in metadata.sorted_tables:
            assert {c["name"] for c in inspect(upgraded).get_columns(table.name)} == set(
                table.columns.keys()
            )
    other.dispose()


def test_every_revision_can_be_undone(conn):
    """Down to the first, and up again."""
    command.upgrade(schema.configuration(conn), "head")
    first = "base" if conn.dialect.name == "sqlite" else FIRST_OF_POSTGRES
    command.downgrade(schema.configuration(conn), first)
    if first == "base":
        assert set(inspect(conn).get_table_names()) <= {"alembic_version"}
    command.upgrade(schema.configuration(conn), "head")
    command.check(schema.configuration(conn))


def test_a_newer_database_is_not_touched(conn):
    """A revision this release does not know stops it."""
    schema.migrate(conn)
    conn.execute(text("UPDATE alembic_version SET version_num = '2999_01_01_future'"))
    with pytest.raises(schema.UnknownSchema, match="2999"):
        schema.migrate(conn)


def test_a_foreign_database_is_not_touched(conn):
    """Tables of something else stop it."""
    conn.execute(text("CREATE TABLE mine (a INTEGER)"))
    with pytest.raises(schema.UnknownSchema):
        schema.migrate(conn)


def _with_a_workload(conn, kind, live):
    """One job of this kind; `live`: it occupies its name."""
    table = metadata.tables["workloads"]
    row = a_workload("one", kind=kind, live=live or None)._asdict()
    conn.execute(table.insert(), {name: row[name] for name in row if name in table.c})


@pytest.mark.parametrize(
    ("kind", "live", "goes"),
    [("JobSet", True, False), ("JobSet", False, True), ("Job", True, True), ("Workload", True, True)],
)  # fmt: skip
def test_the_revision_before_kinds_is_refused_while_jobs_of_other_kinds_are_there(
    conn, kind, live, goes
):
    """The release of that revision takes each for a Job; those that ended and gave up their name stay."""
    schema.migrate(conn)
    _with_a_workload(conn, kind, live)
    if goes:
        schema.downgrade(conn, BEFORE_KINDS)
        assert schema.revision(conn) == BEFORE_KINDS
        return
    with pytest.raises(schema.UnknownSchema, match="delete them first"):
        schema.downgrade(conn, BEFORE_KINDS)


def test_the_revision_before_kinds_is_refused_while_a_member_has_an_object_of_another_kind(conn):
    """Its agent still keeps it, or takes it away."""
    schema.migrate(conn)
    table = metadata.tables["works"]
    row = {**a_work("north", "one")._asdict(), "kind": "JobSet", "epoch": 1}
    conn.execute(table.insert(), {name: row[name] for name in row if name in table.c})
    with pytest.raises(schema.UnknownSchema, match="delete them first"):
        schema.downgrade(conn, BEFORE_KINDS)


def _with_an_object(conn, kind, spec):
    table = metadata.tables["objects"]
    row = {
        "uid": "o", "api_group": "batch", "api_version": "batch/v1", "kind": kind, "namespace": "team-a",
        "name": "nightly", "origin": "rest", "generation": 1, "labels": {}, "annotations": {},
        "spec": spec, "manifest": {}, "hash": "h", "status": None, "created_at": START,
        "updated_at": START,
    }  # fmt: skip
    conn.execute(table.insert(), row)


@pytest.mark.parametrize(("spec", "goes"), [({"schedule": "0 0 * * *"}, False), (None, True)])
def test_the_revision_before_kind_versions_is_refused_while_cron_jobs_name_a_queue(
    conn, spec, goes
):
    """The release of that revision would place them; those without a queue it places as this one does."""
    schema.migrate(conn)
    _with_an_object(conn, "CronJob", spec)
    if goes:
        schema.downgrade(conn, BEFORE_KIND_VERSIONS)
        assert schema.revision(conn) == BEFORE_KIND_VERSIONS
        return
    with pytest.raises(schema.UnknownSchema, match="CronJobs name a queue"):
        schema.downgrade(conn, BEFORE_KIND_VERSIONS)


@pytest.mark.parametrize(
    ("kind", "version", "live", "goes"),
    [
        *((kind, "", True, False) for kind in ("LeaderWorkerSet", "RayCluster", "RayService",
                                               "SparkApplication", "AppWrapper")),
        ("AppWrapper", "", False, True),
        ("JobSet", "", True, True),
        ("Own", "own/1", True, False),
        ("Own", "own/1", False, True),
    ],
)  # fmt: skip
def test_the_revision_before_kind_versions_is_refused_while_jobs_of_newer_kinds_live(
    conn, kind, version, live, goes
):
    """Its release does not know their ends; ended ones that gave up their names stay."""
    schema.migrate(conn)
    _with_a_workload(conn, kind, live)
    conn.execute(text("UPDATE workloads SET kind_version = :version"), {"version": version})
    if goes:
        schema.downgrade(conn, BEFORE_KIND_VERSIONS)
        assert schema.revision(conn) == BEFORE_KIND_VERSIONS
        return
    with pytest.raises(schema.UnknownSchema, match="delete them first"):
        schema.downgrade(conn, BEFORE_KIND_VERSIONS)

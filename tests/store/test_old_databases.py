"""Databases of every revision that has been in use: made by the code of their day, opened by this one.

A revision that was added to while in use has one for each form that it had, made at once and
(`-upgraded`) from the revision before.
"""

import hashlib
import sqlite3
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from hub.store import clusters, form, schema, workloads
from hub.store.backends.choose import backend_of
from hub.store.engine import Database
from shared.clock import ManualClock
from tests.databases import url_of
from tests.store.build import START, a_workload, opened
from tests.store.dumps import DUMPS, FOLDER, loaded, revision_of

pytestmark = [pytest.mark.anyio, pytest.mark.store("sqlite")]
SCRIPTS = Path(schema.__file__).parent / "migrations" / "versions"
# Files of revisions that have landed. They are history: to change a table, add a revision.
LANDED = {
    "2026_11_21_baseline.py": "0430ee8bfdf5c11a3b744059d283b7fa7c726251db6e0119578f7861daf45976",
    "2026_11_21_queueing.py": "2210063228ec11608b36e20c1b9edc0b9cf41b1c1052c242702e8e8a9de0d39d",
    "2026_11_21_evictions.py": "bd94c7b85867a92326dd28c78a1356f7af3de48818f9422eb23dd73e4d7a4f7f",
    "2026_11_22_one_form.py": "0531004ff560be31a62ea8a0e27213f5b00d24d25416fd1d6b67136c4d332f3c",
    "2026_11_22_tallies.py": "6d615aab0fade800908995f2955945265a32d04a3318d7c50483eea983c86815",
    "2026_11_23_replicas.py": "d3214a2171c2123f371f2533a20bb32c5ce2ce37fcbd869ce84f751329912ac9",
    "2026_11_22_api_servers.py": "c18d95f95f79a4054b31fc897b3650815c3600f8c066e13a7f0239836346a0fc",
    "2026_11_23_credentials.py": "5b9f647b2a1b60e9853ef22d00990e52ab9d548f90f3a8b184d16c34b5af7600",
    "2026_11_23_wide_numbers.py": "7ae61ed62b01cd7716efd21a5907b0ba9882993b30c7d9bd41a4d01bebb584ec",
    "2026_11_24_rollouts.py": "0fd3d1a181ec3d8e165701b9e1fd123620569f669f058d82967029cb32c31e5d",
    "2026_11_26_people.py": "cd1ccb6a10b72c2a8aff23164203cc1aa7d0c3fffa6cf2f304d301c62740fdba",
    "2026_11_27_after.py": "4c930500d58b532d621004e2c78269a5efff85dabad6be4efa3551302a15e8e0",
    "2026_11_29_namespaces.py": "98cd651285ea6159c18648ac885e3f2faaa3732617a766256be0852e9357188b",
    "2026_11_29_unstarted.py": "a1f0b389879f98a2092dd7cd316c63dc1c55ce7f254938bfb1203f6e73d1e7ed",
    "2026_11_30_decisions.py": "fdde801681f80485cf984e5e5e745685448f9551398e4262cda6e252b055d2e8",
    "2026_11_30_facts.py": "5a43e891b74058a31f9faaf353f0632befb4e35b06717298c24294da61964291",
    "2026_11_30_kinds.py": "8366d09813b009296ab8c5cc0cde9f289f530fe6e9b183b2bdda22038d09f223",
    "2026_11_30_kind_versions.py": "d40741d9d020a3d2cedad6d60efafd6de6f7aad18d8df5772762c7142da7c5a1",
}

# Those in whose dumps the job says who submitted it.
SAID = {
    "2026_11_23_wide_numbers",
    "2026_11_24_rollouts",
    "2026_11_26_people",
    "2026_11_27_after",
    "2026_11_29_namespaces",
    "2026_11_29_unstarted",
    "2026_11_30_decisions",
    "2026_11_30_facts",
    "2026_11_30_kinds",
    "2026_11_30_kind_versions",
}

# Revisions that no database was ever left at: they landed in one commit with a later one.
PASSED_THROUGH = {"2026_11_22_one_form", "2026_11_22_tallies"}


def made(path: Path) -> None:
    """Make it, or bring it up to date, as a hub does at start."""
    engine = backend_of(f"sqlite:///{path}").writer_engine()
    with engine.begin() as conn:
        schema.migrate(conn)
    engine.dispose()


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def everything(path: Path) -> str:
    connection = sqlite3.connect(path)
    dumped = "\n".join(connection.iterdump())
    connection.close()
    return dumped


def refusal(path: Path) -> str:
    """What opening it is refused with; it is left as it was."""
    before = everything(path)
    with pytest.raises(schema.UnknownSchema) as caught:
        Database.open(f"sqlite:///{path}", ManualClock(START))
    assert everything(path) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("dump", DUMPS)
async def test_an_old_database_becomes_like_a_new_one(tmp_path, dump):
    """Its tables are those of a new one, what it held is there, and it can be written."""
    loaded(dump, url_of(tmp_path))
    async with opened(tmp_path) as db:
        assert await db.read(lambda tx: form.differences(tx.conn)) == []
        old = await db.read(lambda tx: workloads.live_by_name(tx, [("team-a", "old")], "Job"))
        assert [row.state for row in old.values()] == ["Pending"]
        assert [each.name for each in await db.read(clusters.list_all)] == ["north"]
        await db.write(lambda tx: workloads.add(tx, [a_workload("new")]))
        await db.write(
            lambda tx: workloads.add(tx, [a_workload("w", name="new", kind="Workload")])
        )


@pytest.mark.parametrize(
    "change_it",
    [
        "ALTER TABLE workloads DROP COLUMN pods_ready_at",
        "ALTER TABLE workloads ADD COLUMN hue TEXT NOT NULL DEFAULT ''",
        "DROP INDEX ix_workloads_state",
        "CREATE UNIQUE INDEX one ON workloads (queue)",
        "DROP TABLE usage",
    ],
)
def test_tables_that_are_not_the_hubs_are_refused(tmp_path, change_it):
    """The revision's name is right and the tables are not: one line says where, nothing is changed."""
    path = tmp_path / "hub.db"
    made(path)
    change(path, change_it)
    table = "usage" if "usage" in change_it else "workloads"
    assert table in refusal(path)


def test_an_old_revision_with_other_tables_is_refused(tmp_path):
    """What can not be brought up to date is left as it was."""
    path = tmp_path / "hub.db"
    loaded("queueing.sql", url_of(tmp_path))
    change(path, "ALTER TABLE workloads RENAME COLUMN reason TO why")
    assert "revision" in refusal(path)


def test_what_others_add_beside_does_no_harm(tmp_path):
    """A replicator's table and an index for reports are left alone."""
    path = tmp_path / "hub.db"
    made(path)
    change(
        path,
        "CREATE TABLE _replica_seq (id INTEGER PRIMARY KEY)",
        "CREATE INDEX mine ON workloads (labels)",
    )
    made(path)


def test_a_landed_revision_is_never_edited():
    """Databases carry its name and have its tables: what is wrong with it is mended by the next one."""
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in SCRIPTS.glob("2*.py")
    }
    assert found == LANDED


@pytest.mark.parametrize("dump", DUMPS)
async def test_owners_are_taken_from_what_jobs_said(tmp_path, dump):
    """A job that said who submitted it has that owner; of one that did not nothing is known."""
    loaded(dump, url_of(tmp_path))
    async with opened(tmp_path) as db:
        (row,) = await db.read(lambda tx: workloads.live_by_name(tx, [("team-a", "old")]).values())
        assert row.owner == row.annotations.get("roadstead.dev/submitted-by", "")
        assert (row.owner == "admin") is (revision_of(dump) in SAID)


@pytest.mark.parametrize("suffix", [".sql", ".pg"])
def test_each_landed_revision_has_a_dump(suffix):
    """Of both databases, from the first that each has had."""
    first = schema.FIRST_OF_POSTGRES if suffix == ".pg" else "2026_11_21_baseline"
    revisions = [path.removesuffix(".py") for path in LANDED]
    newest_first = sorted(revisions, key=_age)
    wanted = set(newest_first[: newest_first.index(first) + 1]) - PASSED_THROUGH
    assert {revision_of(path.name) for path in FOLDER.glob(f"*{suffix}")} == wanted


def _age(revision: str) -> int:
    """How many revisions came after it."""
    scripts = ScriptDirectory(str(SCRIPTS.parent))
    return [each.revision for each in scripts.walk_revisions()].index(revision)

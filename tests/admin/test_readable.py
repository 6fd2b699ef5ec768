"""Values that no hub can read, in a SQLite file: restore and doctor name them, and do not fail on them."""

import contextlib
import datetime as dt
import shutil
import sqlite3
from pathlib import Path

import pytest

from hub.admin import backup, doctor
from hub.admin.restore import restore
from hub.services.context import identity
from hub.store import clusters, manifests, objects, workloads, works
from hub.store.errors import StoreError
from hub.store.transaction import Transaction
from tests.databases import SQLITE, url_of
from tests.store.build import START, a_member, a_wanted_work, a_workload, an_object, opened

pytestmark = [pytest.mark.anyio, pytest.mark.store(SQLITE)]
NOW = START + dt.timedelta(hours=1)
TEXT_FF = "CAST(x'ff' AS TEXT)"


def fill(tx: Transaction) -> None:
    """A member, two jobs, a work, an object with its manifest."""
    identity.load(tx)
    clusters.add(tx, a_member("north"))
    workloads.add(tx, [a_workload("a"), a_workload("b")])
    works.upsert(tx, [a_wanted_work("north", "a")])
    objects.add(tx, an_object("o"))
    manifests.add(tx, [{"uid": "a", "generation": 1, "manifest": b"{}", "hash": ""}])


async def a_backup(folder: Path, assignment: str = "", table: str = "workloads") -> Path:
    """A backup; one assignment is made in each row of a table by hand."""
    async with opened(folder) as db:
        await db.write(fill)
    file = folder / "backup"
    backup.take(url_of(folder), file, NOW)
    if assignment:
        with contextlib.closing(sqlite3.connect(file)) as conn, conn:
            assert conn.execute(f"UPDATE {table} SET {assignment}").rowcount
    return file


@pytest.mark.parametrize(
    ("table", "assignment", "fault"),
    [
        *(
            (table, f"{column} = '{value}'", f"{table}.{column} can not be read as an instant")
            for table, column in (("workloads", "created_at"), ("clusters", "heartbeat_at"))
            for value in (
                "2026-02-31 10:00:00.000000",
                "2026-02-30 00:00:00.000000",
                "0000-01-01 00:00:00.000000",
                "2026-05-01 12:00 garbage",
                "2026-05-01 24:00:00.000000",
            )
        ),
        (
            "workloads",
            "admission = '{'",
            "2 values of workloads.admission can not be read as JSON",
        ),
        ("workloads", "set_aside = 'not json'", "2 values of workloads.set_aside .* as JSON"),
        ("workloads", "labels = 'text'", "2 values of workloads.labels can not be read as JSON"),
        ("workloads", "labels = '{}'", "2 values of workloads.labels can not be read as JSON"),
        ("workloads", "labels = x'7b7b'", "2 values of workloads.labels can not be read as JSON"),
        ("workloads", "labels = x'22ff22'", "workloads.labels can not be read as JSON"),
        (
            "workloads",
            "priority_class = x'ff00'",
            "workloads.priority_class .* as text",
        ),
        ("workloads", f"message = {TEXT_FF}", "workloads.message can not be read as text"),
        ("workloads", "message = CAST(x'6100ff' AS TEXT)", "workloads.message .* as text"),
        ("objects", "spec = x'7b7b'", "1 value of objects.spec can not be read as JSON"),
        ("objects", "manifest = x'7b'", "1 value of objects.manifest can not be read as JSON"),
        ("manifests", "manifest = x'7b'", "1 value of manifests.manifest can not be read as JSON"),
        ("works", "options = '{'", "1 value of works.options can not be read as apply options"),
        (
            "works",
            "options = x'5b5d'",
            "1 value of works.options can not be read as apply options",
        ),
    ],
)
async def test_a_value_that_no_hub_can_read_is_named(tmp_path, table, assignment, fault):
    """Table, column and how many: by restore, which makes nothing, and by doctor."""
    file = await a_backup(tmp_path, assignment, table)
    target = tmp_path / "other.db"
    with pytest.raises(StoreError, match=fault):
        restore(file, f"sqlite:///{target}", NOW)
    assert not target.exists()
    shutil.copy(file, target)  # as a hub's own file
    for looked_at in (file, target):
        found = doctor.examine(f"sqlite:///{looked_at}").findings
        assert [each.level for each in found] == ["ok", "fail"]
        assert f"{table}.{assignment.split()[0]} can not be read as" in found[-1].message


@pytest.mark.parametrize(
    "assignment",
    [
        "message = 'größer als „zwei“ ' || char(10) || '日本'",
        "message = 'a' || char(0) || 'b'",
        "created_at = '2024-02-29 23:59:59.999999'",
        "created_at = '2024-02-29 23:59:59'",
        "created_at = '9999-12-31 00:00:00.000000'",
        "admission = CAST('null' AS BLOB)",
    ],
)
async def test_what_a_hub_can_read_is_restored(tmp_path, assignment):
    """A 29 February, any text in UTF-8, and JSON of any shape."""
    file = await a_backup(tmp_path, assignment)
    restore(file, f"sqlite:///{tmp_path / 'other.db'}", NOW)

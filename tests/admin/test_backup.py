"""Backups: one instant of a database while it is written, in one file, restored to either kind."""

import asyncio
import contextlib
import datetime as dt
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from hub import folder
from hub.admin import backup, migrate
from hub.admin.opening import NAME, HubAlive
from hub.admin.restore import Occupied, _to_server, restore
from hub.services.context import identity, timeline
from hub.services.questions import overview
from hub.services.works import restored
from hub.store import changes, clusters, leases, manifests, schema, workloads, works
from hub.store.backends.postgres import Postgres
from hub.store.engine import Database
from hub.store.errors import StoreError, UnusableDatabase
from hub.store.keyring import Keyring
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests.databases import url_of
from tests.small_disk import UNSHARE, can_mount
from tests.store.build import START, a_member, a_wanted_work, a_workload, call, opened
from tests.store.dumps import DUMPS, loaded, revision_of

pytestmark = pytest.mark.anyio
NOW = START + dt.timedelta(hours=1)


def fill(tx: Transaction) -> None:
    """A hub with a member, a job that waits, and one that was given to the member."""
    identity.load(tx)
    clusters.add(tx, a_member("north"))
    given = {"state": "Running", "cluster": "north", "epoch": 1, "admission": {"podSets": []}}
    workloads.add(tx, [a_workload("waits"), a_workload("runs", **given)])
    works.upsert(tx, [a_wanted_work("north", "runs")])
    tx.say(a_workload("waits"), "Pending", "it waits")


class Unseen(Postgres):
    """A database on which hubs run that came only after it was first asked for them."""

    asked = 0

    def hubs(self, conn: Connection) -> list[str]:
        self.asked += 1
        return [] if self.asked == 1 else super().hubs(conn)


def below(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def parts_in(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if each.name.endswith(".part")]


async def a_backup(folder: Path) -> tuple[str, Path]:
    """The address of a hub's database, and a backup of it."""
    async with opened(folder) as db:
        await db.write(fill)
    url, file = url_of(folder), folder / "backup"
    backup.take(url, file, NOW)
    return url, file


async def state_of(url: str, uid: str) -> Any:
    db = Database.open(url, ManualClock(NOW))
    try:
        return (await db.read(lambda tx: workloads.get_many(tx, [uid])))[uid]
    finally:
        await db.close()


async def test_what_is_encrypted_stays_so(tmp_path: Path):
    """Without the key a backup is made and restored; with it the restored store is read."""
    keys, home = Keyring([b"1" * 32]), below(tmp_path, "home")
    word = b"canary-of-a-secret"
    db = Database.open(url_of(home), ManualClock(NOW), keys=keys)
    row = {"uid": "runs", "generation": 1, "manifest": word, "hash": ""}
    await db.write(fill)
    await db.write(call(manifests.add, [row]))
    await db.close()
    file = tmp_path / "backup"
    backup.take(url_of(home), file, NOW)
    assert word not in file.read_bytes()
    other = url_of(below(tmp_path, "other"))
    restore(file, other, NOW)
    with pytest.raises(UnusableDatabase, match="no --secrets-key was given"):
        Database.open(other, ManualClock(NOW))
    db = Database.open(other, ManualClock(NOW), keys=keys)
    found = await db.read(call(manifests.latest, "runs"))
    await db.close()
    assert found is not None
    assert found[1] == word


async def test_a_backup_is_one_instant_while_hubs_write(tmp_path: Path):
    """What one transaction writes is in it whole or not at all, and nobody waits for the backup."""
    async with opened(tmp_path) as db:
        await db.write(identity.load)
        written, stop = 0, asyncio.Event()

        async def write() -> None:
            nonlocal written
            while not stop.is_set():
                written += 1
                pair = [a_workload(f"{written}-{which}") for which in "ab"]
                await db.write(call(workloads.add, pair))

        writing = asyncio.create_task(write())
        for number in range(3):
            file = tmp_path / f"backup-{number}"
            made = await asyncio.to_thread(backup.take, url_of(tmp_path), file, NOW)
            assert backup.read(file) == made
            assert made.rows["workloads"] % 2 == 0
        stop.set()
        await writing
    assert made.rows["workloads"] // 2 <= written


async def test_a_backup_is_its_owners_alone_and_overwrites_nothing(tmp_path: Path):
    """It holds what the hub keeps secret; a part of one is never left under its name."""
    url, file = await a_backup(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(UnusableDatabase, match="exists already"):
        backup.take(url, file, NOW)
    with pytest.raises(UnusableDatabase):
        backup.take(url, tmp_path / "nowhere" / "file", NOW)
    assert parts_in(tmp_path) == []


def test_a_backup_that_fails_leaves_nothing(tmp_path: Path):
    """A database in which no hub has been yet is refused, and its backup is made once there is one."""
    url, file = url_of(tmp_path), tmp_path / "backup"
    if url.startswith("sqlite:"):
        Path(url.removeprefix("sqlite:///")).touch()
    with pytest.raises(StoreError):
        backup.take(url, file, NOW)
    assert parts_in(tmp_path) == []
    migrate.up(url)
    assert backup.take(url, file, NOW).revision == schema.HEAD


async def test_a_restored_store_stops_and_holds_what_may_have_started(tmp_path: Path):
    """A new incarnation; what waits is held beyond all epochs, what was given is doubtful, nobody leads."""
    url, file = await a_backup(tmp_path)
    target = url_of(below(tmp_path, "restored"))
    db = Database.open(url, ManualClock(NOW))
    before = (await db.read(timeline.standing))[0]
    revision = await db.read(changes.last_revision)
    await db.close()
    done = restore(file, target, NOW)
    assert done.held == 1
    db = Database.open(target, ManualClock(NOW))
    try:
        incarnation, why, recovering = await db.read(timeline.standing)
        assert (incarnation, recovering) == (done.incarnation, True)
        assert incarnation != before
        assert "restored from a backup" in why
        rows = await db.read(lambda tx: workloads.get_many(tx, ["waits", "runs"]))
        assert (rows["waits"].state, rows["waits"].reason) == ("Held", "Restored")
        assert rows["waits"].epoch > 100_000
        (work,) = await db.read(lambda tx: works.of_uids(tx, ["runs"]))
        assert (work.seen, work.options.doubtful) == (True, True)
        assert await db.read(leases.is_free)
        told, _ = await db.read(lambda tx: overview.changes_since(tx, revision, 100))
        held = [each["keys"] for each in told if each["kind"] == "workloads"]
        assert held == [["waits"]], "the change feed after the backup's revision lists the job"
        await db.write(lambda tx: workloads.add(tx, [a_workload("later")]))
        assert await db.write(lambda tx: restored.accept(tx, "ann")) == incarnation
        assert await db.read(timeline.stopped) == ""
        after = await db.read(lambda tx: workloads.get_many(tx, ["waits", "later"]))
        assert (after["waits"].state, after["later"].state) == ("Held", "Pending")
    finally:
        await db.close()


@pytest.mark.parametrize("dump", DUMPS)
async def test_a_backup_of_any_day_can_be_restored(tmp_path: Path, dump: str):
    """It is brought to this release's schema on its way; the file itself stays as it is."""
    source = url_of(below(tmp_path, "source"))
    loaded(dump, source)
    file = tmp_path / "backup"
    if source.startswith("postgresql") and revision_of(dump) != schema.HEAD:
        with pytest.raises(schema.SchemaBehind, match="the release that runs on it"):
            backup.take(source, file, NOW)
        migrate.up(source)
    backup.take(source, file, NOW)
    content = file.read_bytes()
    target = url_of(below(tmp_path, "target"))
    assert restore(file, target, NOW).held >= 1
    assert file.read_bytes() == content
    db = Database.open(target, ManualClock(NOW))
    try:
        old = await db.read(lambda tx: workloads.live_by_name(tx, [("team-a", "old")], "Job"))
        assert [row.state for row in old.values()] == ["Held"]
    finally:
        await db.close()


@pytest.mark.store("postgres")
async def test_a_hub_moves_from_one_kind_of_database_to_the_other(tmp_path: Path):
    """There and back again, with every row; new rows are numbered on."""
    url, file = await a_backup(tmp_path)
    middle = f"sqlite:///{tmp_path}/middle/hub.db"
    restore(file, middle, NOW)
    second = tmp_path / "second"
    backup.take(middle, second, NOW)
    restore(second, url, NOW, replace=True)
    assert (await state_of(url, "runs")).cluster == "north"
    db = Database.open(url, ManualClock(NOW))
    await db.write(lambda tx: tx.say(a_workload("waits"), "Again", "numbered on"))
    await db.close()


async def test_what_is_there_is_replaced_by_decision_only(tmp_path: Path):
    """Of SQLite the file is kept beside, with all that it held; without the word nothing is changed."""
    url, file = await a_backup(tmp_path)
    db = Database.open(url, ManualClock(NOW))
    await db.write(lambda tx: workloads.add(tx, [a_workload("since")]))
    await db.close()
    with pytest.raises(Occupied, match="--replace"):
        restore(file, url, NOW)
    assert (await state_of(url, "since")).state == "Pending"
    done = restore(file, url, NOW, replace=True)
    with pytest.raises(KeyError):
        await state_of(url, "since")
    if url.startswith("sqlite:"):
        assert (await state_of(f"sqlite:///{done.aside}", "since")).state == "Pending"


async def test_nothing_is_restored_under_a_hub(tmp_path: Path):
    """A hub that runs would go on with what it remembers of another store."""
    url, file = await a_backup(tmp_path)
    if url.startswith("sqlite:"):
        with folder.locked(tmp_path), pytest.raises(HubAlive):
            restore(file, url, NOW, replace=True)
        return
    db = Database.open(url, ManualClock(NOW))
    await db.read(timeline.stopped)
    with pytest.raises(HubAlive, match="--force"):
        restore(file, url, NOW, replace=True)
    assert restore(file, url, NOW, replace=True, force=True).held == 1
    await db.close()


@pytest.mark.store("postgres")
async def test_a_hub_that_comes_during_a_restore_is_seen(tmp_path: Path):
    """Nobody was there when it began, and somebody is when the rows are to be written: nothing is."""
    url, file = await a_backup(tmp_path)
    async with opened(tmp_path) as db:
        await db.read(timeline.stopped)
        with pytest.raises(HubAlive):
            _to_server(Unseen(url, NAME), backup.read(file), NOW, replace=True, force=False)
        assert await db.read(timeline.stopped) == ""


async def test_a_restored_store_is_later_than_what_it_replaces(tmp_path: Path):
    """Also where the hub's clock went back since: members tell by it whose orders count."""
    url, file = await a_backup(tmp_path)
    first = restore(file, url, NOW, replace=True)
    second = restore(file, url, NOW - dt.timedelta(hours=2), replace=True)
    assert second.incarnation > first.incarnation


@pytest.mark.store("sqlite")
async def test_a_file_that_is_no_whole_backup_is_refused(tmp_path: Path):
    """Absent, no database, damaged, of a newer release, or with fewer rows than it says."""
    _, file = await a_backup(tmp_path)
    target = f"sqlite:///{tmp_path}/target/hub.db"
    broken = tmp_path / "broken"
    good = file.read_bytes()
    for content, why in (
        (b"no database " * 1000, "not a database"),
        (good[: len(good) // 2], "damaged|malformed"),
    ):
        broken.write_bytes(content)
        with pytest.raises(StoreError, match=why):
            restore(broken, target, NOW)
    for statement, why in (
        ("DELETE FROM workloads WHERE uid = 'runs'", "does not contain the rows"),
        ("UPDATE alembic_version SET version_num = '2999_x'", "2999_x"),
    ):
        broken.write_bytes(good)
        with sqlite3.connect(broken) as conn:
            conn.execute("DROP TRIGGER tally_removed")
            conn.execute(statement)
        conn.close()
        with pytest.raises(StoreError, match=why):
            restore(broken, target, NOW)
    with pytest.raises(UnusableDatabase, match="is not there"):
        restore(tmp_path / "absent", target, NOW)
    assert not (tmp_path / "target" / "hub.db").exists()


@pytest.mark.store("postgres")
def test_of_a_database_without_a_hub_no_backup_is_made(tmp_path: Path):
    """It is said to hold none, and no file is left behind."""
    file = tmp_path / "hub.backup"
    with pytest.raises(schema.SchemaBehind, match="holds no hub"):
        backup.take(url_of(tmp_path), file, NOW)
    assert list(tmp_path.iterdir()) == []


SMALL_DISK = """
import datetime as dt, sys
from pathlib import Path
from hub.admin import backup
from hub.store.errors import UnusableDatabase
try:
    backup.take(sys.argv[1], Path(sys.argv[2]) / "backup", dt.datetime(2026, 5, 1, tzinfo=dt.UTC))
except UnusableDatabase as error:
    print(error)
print(sorted(each.name for each in Path(sys.argv[2]).iterdir()))
"""


@pytest.mark.skipif(not can_mount(), reason="file systems can not be mounted here")
async def test_a_backup_onto_a_full_disk_leaves_nothing_and_names_the_target(tmp_path: Path):
    """The message is about the backup's disk, and neither a part nor SQLite's own files stay there."""
    async with opened(below(tmp_path, "home")) as db:
        await db.write(fill)
        url, disk = url_of(tmp_path / "home"), below(tmp_path, "disk")
        mount = 'mount -t tmpfs -o size=65536 small "$1" && exec "$2" -c "$3" "$4" "$1"'
        done = await asyncio.to_thread(
            subprocess.run,
            [*UNSHARE, "sh", "-c", mount, "-", str(disk), sys.executable, SMALL_DISK, url],
            capture_output=True,
            text=True,
            check=False,
        )
    said, left = done.stdout.splitlines()
    assert said.startswith(
        f"the backup {disk}/backup can not be written: database or disk is full"
    )
    assert left == "[]"


async def spoilt(folder: Path, statement: str) -> Path:
    """A backup with a row that was changed by hand."""
    _, file = await a_backup(folder)
    with contextlib.closing(sqlite3.connect(file)) as conn, conn:
        conn.execute(statement)
    return file


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            "INSERT INTO alembic_version VALUES ('2026_11_21_baseline')",
            "names 2 revisions in table alembic_version",
        ),
        (
            "UPDATE workloads SET state = 'Bogus' WHERE uid = 'waits'",
            'job is "Bogus" .waits first. in a state that this release does not know',
        ),
        (
            "UPDATE workloads SET cluster = 'nowhere' WHERE uid = 'runs'",
            'job is "nowhere" .runs first. on an unknown cluster',
        ),
        (
            "UPDATE workloads SET cluster = 'nowhere', state = 'Withdrawing' WHERE uid = 'runs'",
            'job is "nowhere" .runs first. on an unknown cluster',
        ),
        (
            "UPDATE workloads SET created_at = 'yesterday' WHERE uid = 'waits'",
            "1 value of workloads.created_at can not be read as an instant",
        ),
        (
            "UPDATE workloads SET placed_at = 7 WHERE uid = 'runs'",
            "1 value of workloads.placed_at can not be read as an instant",
        ),
        (
            "UPDATE workloads SET epoch = 'two'",
            "values of workloads.epoch can not be read as a number",
        ),
    ],
)
async def test_a_backup_that_no_hub_could_go_on_from_is_refused(tmp_path: Path, statement, fault):
    """With the fault and the remedy, and nothing is made."""
    file = await spoilt(below(tmp_path, "home"), statement)
    target = tmp_path / "other.db"
    with pytest.raises(StoreError, match=fault) as refused:
        restore(file, f"sqlite:///{target}", NOW)
    assert "restore another backup" in str(refused.value) or "restore a backup" in str(
        refused.value
    )
    assert not target.exists()

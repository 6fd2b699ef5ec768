"""A restore over a damaged store: the files of the replaced database move aside together."""

import contextlib
import datetime as dt
import shutil
import sqlite3
from pathlib import Path

import pytest

from hub.admin import backup
from hub.admin.restore import restore
from hub.services.context import identity
from hub.store import workloads
from hub.store.transaction import Transaction
from tests.databases import url_of
from tests.store.build import START, a_workload, opened

pytestmark = pytest.mark.anyio
NOW = START + dt.timedelta(hours=1)


def fill(tx: Transaction) -> None:
    identity.load(tx)
    workloads.add(tx, [a_workload("waits")])


def message_in(file: Path) -> str:
    with contextlib.closing(sqlite3.connect(file)) as conn:
        found = conn.execute("SELECT message FROM workloads WHERE uid = 'waits'").fetchone()
    return str(found[0])


def killed_beside(there: Path, place: Path) -> Path:
    """A damaged copy of a database, with the write-ahead log that a killed hub left."""
    place.mkdir()
    killed = place / there.name
    with contextlib.closing(sqlite3.connect(there)) as hub:
        hub.execute("PRAGMA journal_mode=WAL")
        hub.execute("UPDATE workloads SET message = 'since' WHERE uid = 'waits'")
        hub.commit()
        shutil.copyfile(f"{there}-wal", f"{killed}-wal")
    killed.write_bytes(b"no database " * 1000)
    return killed


@pytest.mark.store("sqlite")
async def test_the_log_of_a_damaged_file_moves_aside_with_it(tmp_path: Path):
    """SQLite would replay a log that stays beside the restored file."""
    async with opened(tmp_path) as db:
        await db.write(fill)
    url, file = url_of(tmp_path), tmp_path / "backup"
    backup.take(url, file, NOW)
    killed = killed_beside(Path(url.removeprefix("sqlite:///")), tmp_path / "killed")
    done = restore(file, f"sqlite:///{killed}", NOW, replace=True)
    logs = sorted(each.name for each in killed.parent.glob("*-wal"))
    assert logs == [f"{Path(done.aside).name}-wal"]
    assert message_in(killed) != "since"

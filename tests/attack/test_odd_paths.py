"""A folder may be called anything: what is kept in it is kept there, and kept apart."""

import datetime as dt
import sqlite3
from pathlib import Path

import pytest

from hub.admin import backup, restore
from hub.store import settings
from hub.store.backends.sqlite import address_of
from hub.store.engine import Database
from shared.clock import ManualClock
from tests.api.process import running
from tests.store.build import START, call

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
ODD = ["team%41", "team?x", "team#1", "a b&é"]


async def a_hub(folder: Path, name: str) -> str:
    """The address of a database that says whose it is."""
    address = address_of(folder / "hub.db")
    db = Database.open(address, ManualClock(START))
    await db.write(call(settings.put, "whose", name))
    await db.close()
    return address


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def whose(file: Path) -> str:
    with sqlite3.connect(file) as conn:
        found = conn.execute("SELECT value FROM settings WHERE name = 'whose'").fetchone()
    return str(found[0], "utf-8") if isinstance(found[0], bytes) else str(found[0])


@pytest.mark.parametrize("name", ODD)
def test_the_database_is_in_the_folder(tmp_path: Path, name: str):
    """A percent sign or a question mark is a letter of the name, and leads nowhere else."""
    with running(tmp_path / name):
        assert (tmp_path / name / "hub.db").exists()
        assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", ODD)
async def test_a_backup_goes_out_of_it_and_back_into_it(tmp_path: Path, name: str):
    """It is taken and restored, and no other file is made."""
    ours = await a_hub(tmp_path / name, "ours")
    made = tmp_path / f"{name}.backup"
    backup.take(ours, made, NOW)
    restore.restore(made, ours, NOW, replace=True)
    assert whose(tmp_path / name / "hub.db") == '"ours"'
    assert names(tmp_path) == [name, f"{name}.backup"]


async def test_what_was_replaced_is_kept_though_another_restore_follows_at_once(tmp_path: Path):
    """Also within one second, as a script's second try does."""
    ours, other = await a_hub(tmp_path / "hub", "the first"), await a_hub(tmp_path / "b", "older")
    made = tmp_path / "hub.backup"
    backup.take(other, made, NOW)
    kept = [restore.restore(made, ours, NOW, replace=True).aside for _ in range(3)]
    assert [whose(Path(each)) for each in kept] == ['"the first"', '"older"', '"older"']

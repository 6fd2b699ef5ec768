"""Jobs from before a restore are found in whichever order the database sorts texts."""

from pathlib import Path

import pytest
from sqlalchemy import text

from hub.store import leftovers
from hub.store.leftovers import Leftover
from hub.store.transaction import Transaction
from tests import databases
from tests.store.build import call, opened

pytestmark = pytest.mark.anyio
FOUND = [Leftover(f"u-{n}", member, n) for n in range(20) for member in ("north", "south")]
_SORTED_AS_A_DICTIONARY = (
    'ALTER TABLE settings ALTER COLUMN name TYPE varchar(64) COLLATE "en-x-icu"'
)


def keep(tx: Transaction) -> None:
    for member in ("north", "south"):
        leftovers.note(tx, member, [each for each in FOUND if each.cluster == member])


async def test_those_of_a_job_of_a_member_and_all_are_found(tmp_path: Path):
    """Each is read by a prefix of its name, and nothing beside it."""
    async with opened(tmp_path) as db:
        await db.write(keep)
        assert sorted(await db.read(leftovers.list_all)) == sorted(FOUND)
        assert sorted(await db.read(call(leftovers.of_jobs, ["u-7"]))) == [FOUND[14], FOUND[15]]


@pytest.mark.store(databases.POSTGRES)
async def test_they_are_found_where_punctuation_sorts_last(tmp_path: Path):
    """A collation that compares letters first has no range of names for one prefix."""

    def sort_by_letters(tx: Transaction) -> None:
        tx.conn.execute(text(_SORTED_AS_A_DICTIONARY))

    async with opened(tmp_path) as db:
        await db.write(sort_by_letters)
        await db.write(keep)
        assert sorted(await db.read(leftovers.list_all)) == sorted(FOUND)
        assert sorted(await db.read(call(leftovers.of_jobs, ["u-7"]))) == [FOUND[14], FOUND[15]]
        await db.write(call(leftovers.drop, FOUND[:39]))
        assert await db.read(leftovers.list_all) == FOUND[39:]


async def test_a_member_keeps_exactly_as_many_as_the_bound(tmp_path: Path, monkeypatch):
    """One more is refused, and none of that report is kept."""
    monkeypatch.setattr(leftovers, "MOST_OF_MEMBER", 2)
    two, more = [Leftover("a", "north", 1), Leftover("b", "north", 1)], Leftover("c", "north", 1)
    async with opened(tmp_path) as db:
        assert await db.write(call(leftovers.note, "north", two))
        assert not await db.write(call(leftovers.note, "north", [more]))
        assert sorted(await db.read(leftovers.list_all)) == two


async def test_a_repeated_report_does_not_count_its_rows_twice(tmp_path: Path, monkeypatch):
    """A member that is at the bound may report the same Jobs again."""
    monkeypatch.setattr(leftovers, "MOST_OF_MEMBER", 2)
    two = [Leftover("a", "north", 1), Leftover("b", "north", 1)]
    async with opened(tmp_path) as db:
        for _ in range(2):
            assert await db.write(call(leftovers.note, "north", two))


async def test_a_later_report_of_a_job_replaces_the_earlier_row(tmp_path: Path):
    """The row has the epoch that the member reports now."""
    async with opened(tmp_path) as db:
        for epoch in (1, 2):
            await db.write(call(leftovers.note, "north", [Leftover("a", "north", epoch)]))
        assert await db.read(leftovers.list_all) == [Leftover("a", "north", 2)]

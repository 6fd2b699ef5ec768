"""A store that can not write: nothing half kept, no caller fails for another, and it goes on by itself.

The disk is full for real: by SQLite's own limit of pages, which fails statements, and by the kernel's
limit of file sizes, which fails the COMMIT.
"""

import asyncio
import subprocess
import sys
import textwrap

import pytest

from hub.store import settings
from hub.store.errors import StoreUnavailable
from shared.clock import ManualClock
from tests.store.build import START, opened

pytestmark = pytest.mark.anyio
MANY = 1 << 20  # bytes: more than what is left
PLENTY = 1 << 30  # pages


async def _limit(db, more_pages):
    """Let the file grow by so many pages at most."""

    def set_limit(tx):
        pages = tx.conn.exec_driver_sql("PRAGMA page_count").scalar()
        tx.conn.exec_driver_sql(f"PRAGMA max_page_count={pages + more_pages}")

    await db.write(set_limit)


def put(name, size=1):
    return lambda tx: settings.put(tx, name, "x" * size)


def kept(*names):
    return lambda tx: [name for name in names if settings.get(tx, name) is not None]


@pytest.mark.store("sqlite")
async def test_what_does_not_fit_is_refused_and_nothing_of_it_is_kept(tmp_path):
    """A full disk is StoreUnavailable; once there is room the same store writes again."""
    async with opened(tmp_path) as db:
        await _limit(db, 4)
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="full"):
                await db.write(put("big", MANY))
        await db.write(put("small"))
        await _limit(db, PLENTY)
        await db.write(put("later", MANY))
        assert await db.read(kept("big", "small", "later")) == ["small", "later"]


@pytest.mark.store("sqlite")
async def test_one_that_does_not_fit_fails_alone(tmp_path):
    """Those that share its transaction are written, each time it is tried."""
    async with opened(tmp_path) as db:
        await _limit(db, 40)
        for turn in range(3):
            answers = await asyncio.gather(
                *(db.write(put(f"{turn}-{i}")) for i in range(5)),
                db.write(put("big", MANY)),
                *(db.write(put(f"{turn}-{i}")) for i in range(5, 10)),
                return_exceptions=True,
            )
            assert [type(a).__name__ for a in answers] == [
                *["NoneType"] * 5,
                "StoreUnavailable",
                *["NoneType"] * 5,
            ]
        names = [f"{turn}-{i}" for turn in range(3) for i in range(10)]
        assert await db.read(kept("big", *names)) == names


@pytest.mark.store("sqlite")
async def test_where_nothing_fits_each_caller_is_refused(tmp_path):
    """All of those that shared a commit hear it, and nothing of them is kept or announced."""
    async with opened(tmp_path) as db:
        await _limit(db, 0)
        feed, before = db.subscribe(), db.revision
        answers = await asyncio.gather(
            *(db.write(put(f"{i}", MANY)) for i in range(20)), return_exceptions=True
        )
        assert {type(answer) for answer in answers} == {StoreUnavailable}
        assert (feed.take(), db.revision) == (None, before)
        assert await db.read(kept(*map(str, range(20)))) == []


@pytest.mark.store("sqlite")
async def test_the_feed_has_no_hole_after_a_full_disk(tmp_path):
    """A revision that could not be committed is given to the next commit."""
    async with opened(tmp_path) as db:
        await db.write(put("a"))
        await _limit(db, 4)
        with pytest.raises(StoreUnavailable):
            await db.write(put("big", MANY))
        before = db.revision
        await db.write(put("b"))
        assert db.revision == before + 1


@pytest.mark.store("sqlite")
async def test_whether_it_takes_writes_is_asked_of_the_disk(tmp_path):
    """False from the first failure until a small write succeeds, and true then without a restart."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.require_writable()
        await _limit(db, 4)
        with pytest.raises(StoreUnavailable):
            await db.write(put("big", MANY))
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await db.require_writable()
            clock.advance(1)
        await _limit(db, PLENTY)
        await db.require_writable()
        assert await db.read(kept("room")) == []


@pytest.mark.store("sqlite")
async def test_what_failed_for_its_size_alone_leaves_the_store_writable(tmp_path):
    """There is room for others: the store says so."""
    async with opened(tmp_path) as db:
        await _limit(db, 40)
        with pytest.raises(StoreUnavailable):
            await db.write(put("big", MANY))
        await db.require_writable()


async def test_a_lost_connection_is_replaced(tmp_path):
    """The handle of the file is gone: its caller hears it, the next one does not."""
    async with opened(tmp_path) as db:
        await db.write(put("before"))

        def lose(tx):
            settings.put(tx, "lost", 1)
            tx.conn.connection.dbapi_connection.close()

        answers = await asyncio.gather(db.write(lose), return_exceptions=True)
        assert isinstance(answers[0], Exception)
        await db.write(put("after"))
        assert await db.read(kept("before", "lost", "after")) == ["before", "after"]


_COMMITS = textwrap.dedent(
    """
    import asyncio, resource, sys
    from hub.store import settings
    from hub.store.engine import Database
    from hub.store.errors import StoreUnavailable
    from shared.clock import SystemClock

    def put(name):
        return lambda unit: settings.put(unit, name, 1)

    async def outcome(awaited):
        try:
            await awaited
        except StoreUnavailable:
            return "unavailable"
        return "kept"

    async def main():
        db = Database.open(sys.argv[1], SystemClock())
        await db.write(put("before"))
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, most))
        told = [await outcome(db.write(put("alone"))) for _ in range(3)]
        told += await asyncio.gather(*(outcome(db.write(put(f"{i}"))) for i in range(9)))
        told.append(await outcome(db.require_writable()))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        await asyncio.sleep(0.6)
        told.append(await outcome(db.require_writable()))
        told.append(await outcome(db.write(put("after"))))
        names = ["before", "alone", *map(str, range(9)), "after"]
        kept = await db.read(lambda unit: [n for n in names if settings.get(unit, n)])
        await db.close()
        print(*told, *kept)

    asyncio.run(main())
    """
)


@pytest.mark.store("sqlite")
def test_a_commit_that_fails_is_rolled_back(tmp_path):
    """The kernel lets no file grow: no commit succeeds, nothing is kept; then all is as before."""
    url = f"sqlite:///{tmp_path}/hub.db"
    done = subprocess.run(
        [sys.executable, "-c", _COMMITS, url],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == [*["unavailable"] * 13, "kept", "kept", "before", "after"]


@pytest.mark.store("sqlite")
async def test_a_file_that_is_damaged_while_it_is_open(tmp_path):
    """Who meets the damage hears it, and from then on the store does not call itself well."""
    async with opened(tmp_path) as db:
        await db.write(put("a"))
    async with opened(tmp_path) as db:
        path = tmp_path / "hub.db"
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\x07" * (path.stat().st_size - 4096))
        with pytest.raises(StoreUnavailable, match="malformed"):
            await db.read(kept("a"))
        with pytest.raises(StoreUnavailable, match="malformed"):
            await db.require_writable()


@pytest.mark.store("sqlite")
async def test_once_there_is_room_again_nobody_is_refused(tmp_path):
    """One small write that succeeds is enough: whoever asks right after it is not told of the failure."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await _limit(db, 0)
        with pytest.raises(StoreUnavailable):
            await db.write(put("big", MANY))
        await _limit(db, PLENTY)
        for _ in range(3):
            await db.require_writable()

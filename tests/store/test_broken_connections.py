"""What becomes of a write whose connection to the database ends, before, at or after its commit."""

import asyncio
import contextlib
import datetime as dt
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import event

from hub.store import settings
from hub.store.backends import choose
from hub.store.engine import Database
from hub.store.errors import OutcomeUnknown, StoreUnavailable
from hub.store.transaction import Transaction
from shared.clock import SystemClock
from tests import databases, waiting
from tests.store.cut_connections import Cut, Way

pytestmark = [pytest.mark.anyio, pytest.mark.store("postgres")]


@dataclass
class Cuttable:
    """A database, and the way to it."""

    db: Database
    way: Way

    async def count(self) -> int:
        return int(await self.db.read(lambda tx: settings.get(tx, "count")) or 0)


@pytest.fixture
def server(store: str) -> Iterator[databases.Server]:
    """A server that may be stopped."""
    with databases.own_server() as started:
        yield started


@pytest.fixture
async def cuttable(store: str, tmp_path: Path) -> AsyncIterator[Cuttable]:
    """A hub's database behind a way that can be cut."""
    name = databases.url_of(tmp_path).partition("?")[0].rpartition("/")[2]
    way = Way(databases.server())
    told: list[dt.datetime] = []
    db = Database.open(way.address(name), SystemClock(), told.append)
    try:
        await waiting.eventually(
            lambda: len(told) > 1
        )  # the feed's connection commits at its start
        yield Cuttable(db, way)
    finally:
        way.is_open = True
        await db.close()
        way.end()


def add_one(tx: Transaction) -> int:
    count = int(settings.get(tx, "count") or 0) + 1
    settings.put(tx, "count", count)
    tx.touch("jobs", "j")
    return count


async def test_a_transaction_that_is_under_way_has_not_committed(tmp_path: Path):
    """Its server has not seen yet that the connection is gone: it is asked until the end is known."""
    backend = choose.backend_of(databases.url_of(tmp_path))
    engine, asking = backend.writer_engine(), backend.writer_engine()
    asked = threading.Event()
    event.listen(asking, "after_cursor_execute", lambda *_: asked.set())
    with engine.connect() as conn:
        ticket = backend.enter(conn).ticket
        answer = asyncio.create_task(asyncio.to_thread(backend.has_committed, asking, ticket))
        await waiting.eventually(asked.is_set)
        conn.rollback()
    assert await answer is False


async def test_a_commit_that_is_done_is_acknowledged_though_its_answer_is_lost(cuttable: Cuttable):
    """The server is asked how the transaction ended: it is not done again, and nobody is told it failed."""
    cuttable.way.cut = Cut.AFTER
    assert await cuttable.db.write(add_one) == 1
    assert cuttable.way.cuts == 1
    assert await cuttable.count() == 1
    assert await cuttable.db.write(add_one) == 2


async def test_a_commit_that_never_came_is_tried_once_more(cuttable: Cuttable):
    """Nothing of it was written: by another connection it is, once."""
    cuttable.way.cut = Cut.BEFORE
    assert await cuttable.db.write(add_one) == 1
    assert await cuttable.count() == 1
    assert await cuttable.db.write(add_one) == 2


async def test_what_another_commits_after_a_commit_that_never_came_is_not_missed(
    cuttable: Cuttable, tmp_path: Path
):
    """Its revision is given to the other's: what was remembered since is read again."""

    def seen(tx: Transaction) -> int:
        return tx.remembered("settings", "count", lambda: int(settings.get(tx, "count") or 0))

    tried: list[int] = []

    def add_at_first(tx: Transaction) -> int:
        tried.append(1)
        if len(tried) > 1:
            raise LookupError
        return add_one(tx)

    cuttable.way.cut = Cut.BEFORE
    with pytest.raises(LookupError):
        await cuttable.db.write(add_at_first)
    assert await cuttable.db.write(seen) == 0
    theirs = Database.open(databases.url_of(tmp_path), SystemClock())
    try:
        await theirs.write(add_one)
        assert await cuttable.db.write(seen) == 1
    finally:
        await theirs.close()


@pytest.mark.parametrize("where", [Cut.BEFORE, Cut.AFTER])
async def test_callers_that_shared_a_broken_commit_are_written_once(
    cuttable: Cuttable, where: Cut
):
    """Each one's change is there once, whether the commit they shared had taken place or not."""
    cuttable.way.cut = where
    said = await asyncio.gather(*(cuttable.db.write(add_one) for _ in range(8)))
    assert sorted(said) == list(range(1, 9))
    assert await cuttable.count() == 8


@pytest.mark.parametrize("where", [Cut.BEFORE, Cut.AFTER])
async def test_what_nobody_can_tell_is_said_to_be_unknown(cuttable: Cuttable, where: Cut):
    """It is not tried again by itself: it may have taken place."""
    cuttable.way.cut, cuttable.way.is_closed_by_cut = where, True
    with pytest.raises(OutcomeUnknown):
        await cuttable.db.write(add_one)
    cuttable.way.is_open = True
    assert await cuttable.count() == (1 if where is Cut.AFTER else 0)


async def test_a_broken_commit_is_told_in_the_feed_as_soon_as_it_is_known(cuttable: Cuttable):
    """Whoever follows hears of a change whose author does not know how it ended."""
    changes = cuttable.db.subscribe("jobs")
    cuttable.way.cut, cuttable.way.is_closed_by_cut = Cut.AFTER, True
    with pytest.raises(OutcomeUnknown):
        await cuttable.db.write(add_one)
    cuttable.way.is_open = True
    async with asyncio.timeout(20):
        assert (await changes.get()).keys["jobs"] == {"j"}


async def test_reads_outlive_their_connections(cuttable: Cuttable):
    """Connections of the pool that were cut are replaced, unseen by who reads."""
    await cuttable.db.write(add_one)
    await asyncio.gather(*(cuttable.count() for _ in range(8)))
    cuttable.way.cut_all()
    assert await cuttable.count() == 1


async def test_a_database_that_restarts_is_found_again(server: databases.Server):
    """Meanwhile writes and reads are refused as unavailable; then all goes on, the feed too."""
    url = server.database("hub")
    ours, theirs = (Database.open(url, SystemClock()) for _ in range(2))
    try:
        await ours.write(add_one)
        server.stop(signal.SIGQUIT)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await ours.write(add_one)
            with pytest.raises(StoreUnavailable):
                await ours.read(lambda tx: settings.get(tx, "count"))
        await asyncio.to_thread(server.start)
        with contextlib.suppress(StoreUnavailable):  # its first try finds the old connection
            await theirs.write(add_one)
        assert await theirs.write(add_one) in {2, 3}
        before = await ours.read(lambda tx: settings.get(tx, "count"))
        assert await ours.write(add_one) == before + 1
        await ours.require_writable()
        await waiting.eventually(lambda: ours.revision == theirs.revision)
    finally:
        await ours.close()
        await theirs.close()

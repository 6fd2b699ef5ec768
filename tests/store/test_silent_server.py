"""A PostgreSQL server that hangs: nothing waits for it without bound, and all goes on once it continues."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from hub.store import settings
from hub.store.engine import Database
from hub.store.errors import OutcomeUnknown, StoreUnavailable
from hub.store.silence import SILENT_S
from hub.store.transaction import Transaction
from shared.clock import SystemClock
from tests import databases, waiting

pytestmark = [pytest.mark.anyio, pytest.mark.store("postgres")]
PATIENCE_S = SILENT_S + 4.0  # the machine may be busy


@pytest.fixture
def server(store: str) -> Iterator[databases.Server]:
    """A server that may be paused."""
    with databases.own_server() as started:
        yield started


@pytest.fixture
async def db(server: databases.Server) -> AsyncIterator[Database]:
    opened = Database.open(server.database("hub"), SystemClock())
    try:
        yield opened
    finally:
        await opened.close()


def read(tx: Transaction) -> str | None:
    return settings.get(tx, "name")


def write(value: str):
    return lambda tx: settings.put(tx, "name", value)


async def test_calls_under_way_end_within_seconds(db: Database, server: databases.Server):
    """A read is refused; of a write nobody can say yet whether it takes place."""
    await db.write(write("before"))
    assert await db.read(read) == "before"  # over a connection that stays
    with server.paused():
        began = time.monotonic()
        answers = await asyncio.gather(
            db.read(read), db.write(write("during")), return_exceptions=True
        )
        assert time.monotonic() - began < PATIENCE_S
    assert [type(each) for each in answers] == [StoreUnavailable, OutcomeUnknown]
    assert "has not answered for" in str(answers[0])


async def test_later_calls_are_refused_at_once(db: Database, server: databases.Server):
    """Nothing of them begins, and none waits."""
    await db.write(write("before"))
    with server.paused():
        with pytest.raises(StoreUnavailable):
            await db.read(read)
        began = time.monotonic()
        for _ in range(20):
            with pytest.raises(StoreUnavailable):
                await db.read(read)
            with pytest.raises(StoreUnavailable) as refused:
                await db.write(write("refused"))
            assert not isinstance(refused.value, OutcomeUnknown)
        assert time.monotonic() - began < 1.0
    await waiting.eventually(lambda: not db.is_silent)
    assert await db.read(read) == "before"


async def test_it_goes_on_when_the_server_does(db: Database, server: databases.Server):
    """The same connections serve again, writes too."""
    with server.paused(), pytest.raises(StoreUnavailable):
        await db.read(read)
    await waiting.eventually(lambda: not db.is_silent)
    await db.write(write("after"))
    assert await db.read(read) == "after"


async def test_a_write_that_waits_behind_a_hung_one_never_begins(
    db: Database, server: databases.Server
):
    """Its caller was told: it is dropped from the queue, and does not take place minutes later."""
    with server.paused():
        hung = asyncio.ensure_future(db.write(write("hung")))
        await waiting.turns(5)
        queued = [asyncio.ensure_future(db.write(write(f"late-{n}"))) for n in range(3)]
        await asyncio.wait({hung, *queued})
        assert all(isinstance(each.exception(), OutcomeUnknown) for each in (hung, *queued))
    await waiting.eventually(lambda: not db.is_silent)
    await db.write(lambda tx: tx.touch("x", "y"))  # behind all that was queued
    assert await db.read(read) in {None, "hung"}


async def test_a_server_that_refuses_is_not_silent(db: Database, server: databases.Server):
    """One that was ended refuses connections: each call hears that itself, at once."""
    server.stop(2)
    try:
        with pytest.raises(StoreUnavailable) as refused:
            await db.read(read)
        assert "has not answered" not in str(refused.value)
        assert not db.is_silent
    finally:
        server.start()

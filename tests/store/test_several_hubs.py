"""Several hubs on one PostgreSQL database: what one commits the others hear, and one writes at a time."""

import asyncio
import contextlib
import datetime as dt
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import delete

from hub.store import changes, settings, tables
from hub.store.backends.postgres import IDLE_S, Postgres
from hub.store.engine import Database
from hub.store.errors import LeftBehind, StoreUnavailable, UnusableDatabase
from hub.store.feed import Change
from hub.store.transaction import Transaction
from shared.clock import ManualClock, SystemClock
from tests import databases, waiting
from tests.store.build import START, call, opened
from tests.store.other_backends import Counted, Deaf, Silent

pytestmark = [pytest.mark.anyio, pytest.mark.store("postgres")]


@contextlib.asynccontextmanager
async def of(kind: type[Postgres], folder: Path) -> AsyncIterator[Database]:
    """The database of `folder`, by another way."""
    db = Database(kind(databases.url_of(folder)), ManualClock(START))
    try:
        yield db
    finally:
        await db.close()


def touch(tx: Transaction, kind: str, *keys: str) -> None:
    tx.touch(kind, *keys)


def add_one(tx: Transaction) -> int:
    count = int(settings.get(tx, "count") or 0) + 1
    settings.put(tx, "count", count)
    return count


async def heard(db: Database, revision: int) -> None:
    await waiting.eventually(lambda: db.revision >= revision)


async def test_what_one_hub_commits_the_others_hear(tmp_path):
    """In order, each commit with its kinds and keys."""
    async with opened(tmp_path) as ours, opened(tmp_path) as theirs:
        told: list[Change] = []
        theirs.listen("jobs", told.append)
        for number in range(5):
            await ours.write(call(touch, "jobs", f"j{number}"))
        await heard(theirs, ours.revision)
        assert [sorted(each.keys["jobs"]) for each in told] == [[f"j{n}"] for n in range(5)]
        assert [each.revision for each in told] == list(range(told[0].revision, ours.revision + 1))


async def test_a_commit_is_told_by_a_notification(tmp_path):
    """Nobody has to look first: its revision says what to read."""
    async with opened(tmp_path) as db:
        feed = Postgres(databases.url_of(tmp_path)).open_feed()
        try:
            await db.write(call(touch, "jobs", "j"))
            assert await asyncio.to_thread(feed.wait, 10) == db.revision
        finally:
            feed.close()


async def test_the_time_is_learnt_however_busy_the_others_are(tmp_path):
    """A hub that hears of a commit every few milliseconds asks what time it is all the same."""
    learnt: list[dt.datetime] = []
    async with opened(tmp_path) as ours:
        url = databases.url_of(tmp_path)
        theirs = Database.open(url, ManualClock(START), learnt.append)
        try:
            async with asyncio.timeout(20):
                while len(learnt) < 3:
                    await ours.write(add_one)
        finally:
            await theirs.close()


async def test_one_that_is_told_nothing_looks_by_itself(tmp_path):
    """A notification that is lost costs a second."""
    async with of(Silent, tmp_path) as ours, opened(tmp_path) as theirs:
        await ours.write(call(touch, "jobs", "j1"))
        await heard(theirs, ours.revision)


async def test_a_feed_that_is_lost_is_closed(tmp_path):
    """Another one takes its place: else each loss would leave a connection open."""
    backend = Counted(databases.url_of(tmp_path))
    db = Database(backend, ManualClock(START))
    try:
        await waiting.eventually(lambda: backend.feeds)
        backend.feeds[0].interrupt()
        await waiting.eventually(lambda: len(backend.feeds) == 2)
        assert backend.feeds[0].connection.closed
        assert not backend.feeds[1].connection.closed
    finally:
        await db.close()
    assert backend.feeds[1].connection.closed


async def test_whoever_writes_has_heard_of_all_before(tmp_path):
    """A hub that heard nothing for a while hears it with its own commit, in order, and once."""
    async with opened(tmp_path) as ours, of(Deaf, tmp_path) as theirs:
        told: list[Change] = []
        theirs.listen("jobs", told.append)
        await ours.write(call(touch, "jobs", "theirs"))
        await theirs.write(call(touch, "jobs", "ours"))
        assert [sorted(each.keys["jobs"]) for each in told] == [["theirs"], ["ours"]]
        assert theirs.revision == told[-1].revision


async def test_what_was_heard_in_a_transaction_that_failed_is_told_with_the_next(tmp_path):
    """A refused write of one's own loses nothing of what others have committed."""

    def refuse(_tx: Transaction) -> None:
        raise ValueError("not so")

    async with opened(tmp_path) as ours, of(Deaf, tmp_path) as theirs:
        told: list[Change] = []
        theirs.listen("jobs", told.append)
        await ours.write(call(touch, "jobs", "theirs"))
        with pytest.raises(ValueError, match="not so"):
            await theirs.write(refuse)
        await theirs.write(call(touch, "jobs", "ours"))
        assert [sorted(each.keys["jobs"]) for each in told] == [["theirs"], ["ours"]]


async def test_what_a_transaction_remembers_is_forgotten_when_another_hub_touches_it(tmp_path):
    """A hub's next transaction sees what the other one wrote, not what it read before."""

    def remembered(tx: Transaction) -> int:
        return tx.remembered("jobs", "count", lambda: int(settings.get(tx, "count") or 0))

    async with opened(tmp_path) as ours, opened(tmp_path) as theirs:
        assert await ours.write(remembered) == 0
        await theirs.write(add_one)
        await theirs.write(call(touch, "jobs", "j1"))
        assert await ours.write(remembered) == 1


async def test_hubs_write_one_at_a_time(tmp_path):
    """Nothing that one reads in a transaction is changed by another before it commits."""
    async with opened(tmp_path) as ours, opened(tmp_path) as theirs:

        async def count(db: Database) -> None:
            for _ in range(40):
                await db.write(add_one)
                await db.write(call(touch, "jobs", "j"))

        before = ours.revision
        await asyncio.gather(*(count(db) for db in (ours, theirs, ours, theirs)))
        assert await ours.read(lambda tx: settings.get(tx, "count")) == 160
        kept = await ours.read(lambda tx: changes.since(tx, before, 1000))
        touched = [revision for revision, *_ in kept]
        assert touched == list(range(before + 1, before + 161))


async def test_a_hub_that_stops_in_a_transaction_holds_up_the_others_for_seconds(tmp_path):
    """Its connection ends, with it the lock; woken, it begins anew, upon what the others have written."""
    async with opened(tmp_path) as ours, opened(tmp_path) as theirs:
        begun, go_on = threading.Event(), threading.Event()

        def pause(tx: Transaction) -> int:
            found = add_one(tx)
            begun.set()
            go_on.wait(60)
            return found

        paused = asyncio.create_task(ours.write(pause))
        await asyncio.to_thread(begun.wait)
        async with asyncio.timeout(3 * IDLE_S):
            assert await theirs.write(add_one) == 1
        go_on.set()
        assert await paused == 2
        assert await theirs.read(lambda tx: settings.get(tx, "count")) == 2


def takes_no_result(held: psycopg.Connection) -> None:
    """Ask for more than any buffer holds, and read nothing of it."""
    held.pgconn.send_query(b"SELECT repeat('x', 1000) FROM generate_series(1, 100000)")
    held.pgconn.flush()


def sends_part_of_a_batch(held: psycopg.Connection) -> None:
    """As in `executemany`: one statement of several, and no end."""
    held.pgconn.enter_pipeline_mode()
    held.pgconn.send_query_params(b"SELECT 1", None)
    held.pgconn.send_flush_request()
    held.pgconn.flush()


@contextlib.contextmanager
def stopped_hub(folder: Path, how: Callable[[psycopg.Connection], None]) -> Iterator[None]:
    """A hub that has begun to write, and stops in the middle of a statement."""
    backend = Postgres(databases.url_of(folder))
    engine = backend.writer_engine()
    with engine.connect() as conn:
        conn.begin()
        backend.enter(conn)
        held = conn.connection.driver_connection
        assert isinstance(held, psycopg.Connection)
        how(held)
        yield
        held.close()
        conn.invalidate()
    engine.dispose()


@pytest.mark.parametrize("how", [takes_no_result, sends_part_of_a_batch])
async def test_a_hub_that_stops_in_a_statement_holds_up_the_others_for_seconds(tmp_path, how):
    """PostgreSQL takes it for active and waits; the other hubs end its connection."""
    async with opened(tmp_path) as theirs:
        with stopped_hub(tmp_path, how):
            async with asyncio.timeout(3 * IDLE_S):
                await theirs.write(add_one)


@pytest.mark.parametrize("how", [takes_no_result, sends_part_of_a_batch])
async def test_a_hub_that_starts_beside_one_that_has_stopped_waits_for_seconds(tmp_path, how):
    """It is alone: whoever led has stopped, and no other hub looks out."""
    async with opened(tmp_path) as before:
        await before.write(add_one)
    with stopped_hub(tmp_path, how):
        began = time.monotonic()
        theirs = await asyncio.to_thread(
            Database.open, databases.url_of(tmp_path), ManualClock(START)
        )
        try:
            assert time.monotonic() - began < 3 * IDLE_S
            assert await theirs.write(add_one) == 2
        finally:
            await theirs.close()


@pytest.mark.parametrize(
    ("given", "then"),
    [("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")],
)
def test_a_commit_is_as_durable_as_jobs_need_it(tmp_path, given, then):
    """Whatever less somebody has set for the database is not taken; more of it is."""
    url = f"{databases.url_of(tmp_path)}&options=-c%20synchronous_commit%3D{given}"
    engine = Postgres(url).writer_engine()
    with engine.connect() as conn:
        assert conn.exec_driver_sql("SHOW synchronous_commit").scalar() == then
    engine.dispose()


@pytest.mark.parametrize("times", [1, 2])
async def test_a_connection_that_is_lost_is_not_its_callers_matter(tmp_path, times):
    """A machine that stood still for seconds: nothing was committed, so it is tried once more, by another."""
    ran: list[int] = []

    def lose(tx: Transaction) -> int:
        ran.append(1)
        if len(ran) <= times:
            tx.conn.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
        return add_one(tx)

    async with opened(tmp_path) as db:
        if times == 1:
            assert await db.write(lose) == 1
        else:
            with pytest.raises(StoreUnavailable):
                await db.write(lose)
        assert len(ran) == 2
        assert await db.write(add_one) == 2 // times


async def test_a_transaction_that_may_take_long_is_waited_for(tmp_path):
    """What an administrator does to a hundred thousand rows is not ended in the middle."""
    asked = "SELECT current_setting('idle_in_transaction_session_timeout')"

    def limits(tx: Transaction) -> list[str]:
        before = tx.conn.exec_driver_sql(asked).scalar_one()
        tx.may_take_long()
        return [before, tx.conn.exec_driver_sql(asked).scalar_one()]

    async with opened(tmp_path) as db:
        assert await db.write(limits) == [f"{IDLE_S}s", "10min"]
        assert await db.write(limits) == [f"{IDLE_S}s", "10min"]


async def test_who_missed_a_revision_in_the_middle_begins_anew(tmp_path):
    """The one before it and the one after it are kept: what it remembers is of no time at all."""
    async with opened(tmp_path) as ours, of(Deaf, tmp_path) as theirs:
        for number in range(3):
            await ours.write(call(touch, "jobs", f"j{number}"))
        newest = await ours.read(changes.last_revision)
        row = tables.changes.c.revision == newest - 1
        await ours.write(lambda tx: tx.conn.execute(delete(tables.changes).where(row)))
        with pytest.raises(LeftBehind):
            await theirs.write(add_one)


async def test_who_missed_what_is_kept_nowhere_begins_anew(tmp_path):
    """It says so for good: what it remembers may be of any time."""
    async with opened(tmp_path) as ours, of(Deaf, tmp_path) as theirs:
        for number in range(3):
            await ours.write(call(touch, "jobs", f"j{number}"))
        await ours.write(call(changes.trim, START + dt.timedelta(days=1), 1000))
        with pytest.raises(LeftBehind):
            await theirs.write(add_one)
        assert isinstance(theirs.left_behind, LeftBehind)
        with pytest.raises(LeftBehind):
            await theirs.require_writable()
        assert await ours.read(lambda tx: settings.get(tx, "count")) is None


async def test_a_hub_learns_what_time_the_database_says_it_is(tmp_path):
    """At the start and ever after: hubs whose clocks differ agree about spans."""
    told: list[dt.datetime] = []
    db = Database.open(databases.url_of(tmp_path), ManualClock(START), told.append)
    try:
        assert told
        until_now = abs(SystemClock().now() - told[0])
        assert until_now < dt.timedelta(minutes=1)
        await waiting.eventually(lambda: len(told) >= 3)
        assert told == sorted(told)
    finally:
        await db.close()


async def test_a_database_of_another_encoding_is_refused_in_one_sentence():
    """Of SQL_ASCII too, whose texts its driver would take for bytes."""
    server = databases.server()
    with psycopg.connect(server.address("postgres"), autocommit=True) as conn:
        conn.execute("DROP DATABASE IF EXISTS bytes_alone")
        conn.execute(
            "CREATE DATABASE bytes_alone TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
        )
    with pytest.raises(UnusableDatabase, match="has encoding SQL_ASCII; UTF8 is needed"):
        Database.open(server.address("bytes_alone"), SystemClock())

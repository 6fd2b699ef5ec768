"""Group commit, savepoints, snapshots, and the order of the feed, on real SQLite files."""

import asyncio
import subprocess
import sys
import textwrap

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from hub.store import changes, events, settings
from hub.store.backends.choose import backend_of
from hub.store.errors import StaleTerm, StoreUnavailable
from hub.store.leases import seize
from tests.databases import url_of
from tests.store.build import opened


def put(name, value):
    return lambda tx: settings.put(tx, name, value)


def touch(kind, key):
    return lambda tx: tx.touch(kind, key)


pytestmark = pytest.mark.anyio


async def test_a_write_is_seen_by_the_next_read(tmp_path):
    """What is acknowledged can be read."""
    async with opened(tmp_path) as db:
        await db.write(lambda tx: settings.put(tx, "a", 1))
        assert await db.read(lambda tx: settings.get(tx, "a")) == 1


async def test_a_failing_function_undoes_itself_alone(tmp_path):
    """Callers that share a commit do not share failures."""
    async with opened(tmp_path) as db:

        def bad(tx):
            settings.put(tx, "bad", 1)
            tx.event(uid="u", kind="k", namespace="", name="n", reason="R", message="m")
            raise LookupError("no")

        writes = []
        for i in range(20):
            writes.append(db.write(put(f"good{i}", i)))
            writes.append(db.write(bad))
        answers = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(a).__name__ for a in answers] == ["NoneType", "LookupError"] * 20

        def kept(tx):
            good = [settings.get(tx, f"good{i}") for i in range(20)]
            return good, settings.get(tx, "bad"), events.list_events(tx)

        assert await db.read(kept) == (list(range(20)), None, [])


async def test_a_failing_statement_undoes_its_function_alone(tmp_path):
    """A broken constraint is its caller's alone, alone in a commit or not."""
    from sqlalchemy.exc import IntegrityError

    from hub.store import tokens

    async with opened(tmp_path) as db:
        add = lambda tx: tokens.add_principal(tx, id="p", role="viewer", name="v")  # noqa: E731
        await db.write(add)
        with pytest.raises(IntegrityError):
            await db.write(add)
        answers = await asyncio.gather(
            *(db.write(add), db.write(lambda u: settings.put(u, "x", 1))), return_exceptions=True
        )
        assert isinstance(answers[0], IntegrityError)
        assert await db.read(lambda tx: settings.get(tx, "x")) == 1


async def test_shared_writes_get_one_call_and_their_own_answers(tmp_path):
    """Items of several callers go to one call of the function; an exception among them is its own's."""
    calls = []

    def take(tx, items):
        calls.append(len(items))
        return [ValueError(item) if item == 3 else item * 10 for item in items]

    async with opened(tmp_path) as db:
        blocker = db.write(lambda tx: settings.put(tx, "a", 1))
        answers = await asyncio.gather(
            blocker, *(db.write_shared(take, i) for i in range(6)), return_exceptions=True
        )
    assert [str(a) for a in answers[1:]] == ["0", "10", "20", "3", "40", "50"]
    assert sum(calls) == 6
    assert len(calls) < 6


async def test_when_a_shared_call_fails_each_item_is_tried_alone(tmp_path):
    """One poisonous item does not fail the others."""

    def take(tx, items):
        for item in items:
            settings.put(tx, f"k{item}", item)
            if item == 2:
                raise RuntimeError("poison")
        return items

    async with opened(tmp_path) as db:
        answers = await asyncio.gather(
            *(db.write_shared(take, i) for i in range(5)), return_exceptions=True
        )
        assert [str(a) for a in answers] == ["0", "1", "poison", "3", "4"]
        stored = await db.read(lambda u: [settings.get(u, f"k{i}") for i in range(5)])
        assert stored == [0, 1, None, 3, 4]


async def test_a_read_sees_one_state(tmp_path):
    """What commits while a read runs is not seen by it."""
    import threading

    async with opened(tmp_path) as db:
        await db.write(lambda tx: settings.put(tx, "a", 1))
        began, go_on = threading.Event(), threading.Event()

        def twice(tx):
            first = settings.get(tx, "a")
            began.set()
            go_on.wait(10)
            return first, settings.get(tx, "a")

        reading = asyncio.ensure_future(db.read(twice))
        await asyncio.to_thread(began.wait, 10)
        await db.write(lambda tx: settings.put(tx, "a", 2))
        go_on.set()
        assert await reading == (1, 1)


async def test_a_read_can_not_write(tmp_path):
    """Readers' connections refuse."""
    async with opened(tmp_path) as db:
        with pytest.raises(StoreUnavailable):
            await db.read(lambda tx: settings.put(tx, "a", 1))


async def test_the_feed_is_in_order_and_without_holes(tmp_path):
    """Each commit that touches something has the next revision; a slow follower gets them merged."""
    async with opened(tmp_path) as db:
        feed = db.subscribe()
        for i in range(5):
            await db.write(touch("workloads", f"w{i}"))
        change = await feed.get()
        assert (change.revision, change.keys["workloads"]) == (
            5,
            frozenset(f"w{i}" for i in range(5)),
        )
        await db.write(lambda tx: tx.touch("clusters", "c"))
        change = await feed.get()
        assert (change.revision, dict(change.keys)) == (6, {"clusters": frozenset({"c"})})
        rows = await db.read(lambda tx: changes.since(tx, 0, 100))
        assert [row[0] for row in rows] == [1, 2, 3, 4, 5, 6]


async def test_a_follower_of_one_kind_is_not_woken_by_others(tmp_path):
    """Subscriptions may name kinds."""
    async with opened(tmp_path) as db:
        feed = db.subscribe("tokens")
        await db.write(lambda tx: tx.touch("workloads", "w"))
        assert feed.take() is None
        await db.write(lambda tx: tx.touch("tokens", "t"))
        assert (await feed.get()).keys == {"tokens": {"t"}}


async def test_revisions_go_on_after_a_restart(tmp_path):
    """No revision is given twice."""
    async with opened(tmp_path) as db:
        await db.write(lambda tx: tx.touch("workloads", "w"))
    async with opened(tmp_path) as db:
        assert db.revision == 1
        await db.write(lambda tx: tx.touch("workloads", "w"))
        assert db.revision == 2


async def test_events_are_written_with_their_transaction(tmp_path):
    """In order, and announced in the feed."""
    async with opened(tmp_path) as db:
        feed = db.subscribe()

        def say(tx):
            for i in range(3):
                tx.event(uid="u", kind="Job", namespace="n", name="j", reason=f"R{i}", message="")

        await db.write(say)
        rows = await db.read(lambda tx: events.list_events(tx, uid="u"))
        assert [row.reason for row in rows] == ["R0", "R1", "R2"]
        assert (await feed.get()).keys["events"] == {str(rows[-1].id)}


async def test_a_stale_term_commits_nothing(tmp_path):
    """A paused former leader can not write."""
    async with opened(tmp_path) as db:
        import datetime as dt

        old = await db.write(lambda tx: seize(tx, "a", dt.timedelta(seconds=30)))
        await db.write(lambda tx: seize(tx, "b", dt.timedelta(seconds=30)))

        def late(tx):
            settings.put(tx, "x", 1)
            tx.require_term(old)

        with pytest.raises(StaleTerm):
            await db.write(late)
        assert await db.read(lambda tx: settings.get(tx, "x")) is None


async def test_after_the_end_nothing_is_taken(tmp_path):
    """A closed store says so."""
    async with opened(tmp_path) as db:
        await db.close()
        with pytest.raises(StoreUnavailable):
            await db.write(lambda tx: None)
        with pytest.raises(StoreUnavailable):
            await db.read(lambda tx: None)


_WRITER = textwrap.dedent(
    """
    import asyncio, sys
    from hub.store import settings
    from hub.store.engine import Database
    from shared.clock import SystemClock

    async def main():
        db = Database.open(sys.argv[1], SystemClock())

        async def one(worker):
            for i in range(100_000):
                await db.write(lambda unit: settings.put(unit, f"{worker}-{i}", i))
                sys.stdout.write(f"{worker}-{i}\\n")
                sys.stdout.flush()

        await asyncio.gather(*(one(worker) for worker in range(8)))

    asyncio.run(main())
    """
)


def test_kill_9_loses_no_acknowledged_write(tmp_path):
    """Everything that was acknowledged before kill -9 is in the file; nothing is half there."""
    url = url_of(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, url], stdout=subprocess.PIPE, text=True
    )
    acknowledged = [process.stdout.readline().strip() for _ in range(400)]
    process.kill()
    acknowledged += process.stdout.read().split("\n")[:-1]
    process.wait()
    process.stdout.close()
    engine = backend_of(url).reader_engine(1)
    with engine.connect() as conn:
        kept = set(conn.execute(text("SELECT name FROM settings")).scalars())
        revisions = list(conn.execute(text("SELECT revision FROM changes ORDER BY 1")).scalars())
        if conn.dialect.name == "sqlite":
            assert conn.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    engine.dispose()
    assert set(acknowledged) <= kept
    assert revisions == list(range(1, len(revisions) + 1))


async def test_what_the_writer_remembers_is_never_stale(tmp_path):
    """Remembered until rows of that kind change, in the same commit too; a failure forgets all."""

    def seen(tx):
        return tx.remembered("settings", "a", lambda: settings.get(tx, "a"))

    def put(value):
        def run(tx):
            settings.put(tx, "a", value)
            return seen(tx)

        return run

    def fail(tx):
        tx.remembered("shapes", "known", set).add("x")
        raise LookupError

    async with opened(tmp_path) as db:
        assert [await db.write(seen), await db.write(put(1)), await db.write(seen)] == [None, 1, 1]
        answers = await asyncio.gather(
            *(db.write(fn) for fn in (put(2), seen, fail, seen, put(3), seen)),
            return_exceptions=True,
        )
        assert [a for a in answers if not isinstance(a, LookupError)] == [2, 2, 2, 3, 3]
        assert await db.write(lambda tx: tx.remembered("shapes", "known", set)) == set()


async def test_what_a_failed_transaction_remembered_is_forgotten(tmp_path):
    """Also of one that wrote alone: what it took for written is not there."""

    def fail(tx):
        tx.remembered("shapes", "known", set).add("x")
        raise LookupError

    async with opened(tmp_path) as db:
        with pytest.raises(LookupError):
            await db.write(fail)
        assert await db.write(lambda tx: tx.remembered("shapes", "known", set)) == set()


def test_a_failing_statement_does_not_say_its_values(tmp_path):
    """Errors of the database end in logs: what was to be written may be a Secret."""
    engine = backend_of(url_of(tmp_path)).writer_engine()
    with engine.connect() as connection, pytest.raises(DBAPIError) as failure:
        connection.execute(text("INSERT INTO nowhere VALUES (:value)"), {"value": "canary"})
    assert "canary" not in str(failure.value)
    engine.dispose()


async def test_a_follower_without_keys_holds_none(tmp_path):
    """It is woken by what it follows and learns which kinds; however much was touched, that is all."""
    async with opened(tmp_path) as db:
        news = db.subscribe("workloads", keyed=False)
        await db.write(lambda tx: tx.touch("workloads", *map(str, range(100))))
        await db.write(lambda tx: tx.touch("workloads", *map(str, range(200))))
        await db.write(lambda tx: tx.touch("objects", "o"))
        change = await asyncio.wait_for(news.get(), 5)
        assert dict(change.keys) == {"workloads": frozenset()}

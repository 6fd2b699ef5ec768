"""The database: group commit for writes, snapshots for reads, a feed of what each commit touched.

Functions over a `Transaction` are synchronous; here they get their transaction. Writes go to one thread
(`hub.store.writer`), reads to a few connections that can not write.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from hub.store import changes, room
from hub.store.dialect import reader_engine, writer_engine
from hub.store.errors import Damaged, StoreUnavailable, UnusableDatabase, told
from hub.store.feed import Change, Subscription
from hub.store.schema import migrate
from hub.store.transaction import Transaction
from hub.store.writer import Call, Settled, Writer
from shared.clock import Clock

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item
READERS = 4
# A larger file is not read through at start: what is damaged is said when it is met.
CHECKED_BYTES = 64 << 20
_REMEDY = "restore a backup"
PROBE_EVERY_S = 0.5  # after a failed write, so often at most is the disk asked anew


class Database:
    """What the services hold: `write`, `write_shared`, `read`, `subscribe`."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._clock = clock
        self._write_engine = writer_engine(url)
        with self._write_engine.begin() as conn:
            _check(conn, url)
            migrate(conn)
            self.revision = changes.last_revision(Transaction(conn, clock.now()))
        self._read_engine = reader_engine(url, READERS)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._followers: frozenset[Subscription] = (
            frozenset()
        )  # replaced, never changed: two threads
        self._closed = False
        self._recovered = 0  # failures of the writer that are known to be over
        self._probed_at = -PROBE_EVERY_S
        self._probing = asyncio.Lock()
        self._damage: Damaged | None = None
        self._writer = Writer(self._write_engine, clock, self.revision, self._published)

    @classmethod
    def open(cls, url: str, clock: Clock) -> Self:
        """Open `sqlite:///PATH`: a new file, or one of this or an earlier release.

        The file is its user's alone. Raises UnknownSchema, UnusableDatabase.
        """
        name = make_url(url).database
        try:
            if name and name != ":memory:":
                _make_private(Path(name))
            return cls(url, clock)
        except DBAPIError as error:
            raise UnusableDatabase(f"{name}: {error.orig}; {_REMEDY}") from error
        except OSError as error:
            raise UnusableDatabase(f"{name}: {error.strerror}") from error

    async def write(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in a transaction; returns after the commit is durable.

        What `fn` raises is raised here, and only `fn`'s own changes are undone. Raises
        StoreUnavailable if the transaction could not be committed. `fn` may run again if those that
        it shared the transaction with spoil it.
        """
        future: asyncio.Future[T] = self._future()
        self._writer.put(Call(fn, None, shared=False, loop=future.get_loop(), future=future))
        return await future

    async def write_shared(
        self, fn: Callable[[Transaction, Sequence[I]], Sequence[T | Exception]], item: I
    ) -> T:
        """Like `write`, for one item: `fn` gets the items of all callers that share the commit.

        `fn` returns one value per item, in order; an exception among them is raised to its caller.
        If `fn` raises, it is called again for each item alone.
        """
        future: asyncio.Future[T] = self._future()
        self._writer.put(Call(fn, item, shared=True, loop=future.get_loop(), future=future))
        return await future

    async def read(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` over one consistent snapshot; it can not write. Raises StoreUnavailable."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._read, fn)

    async def require_writable(self) -> None:
        """Raises StoreUnavailable while writes fail: the disk is full, gone, or the file is damaged.

        Costs nothing until a write has failed; then one small write at a time, until it succeeds.
        """
        damage = self._damage or self._writer.damage
        if damage is not None:
            raise damage
        async with self._probing:
            failures = self._writer.failures
            if failures == self._recovered:
                return
            if self._clock.monotonic() - self._probed_at < PROBE_EVERY_S:
                raise StoreUnavailable("the last write failed")
            self._probed_at = self._clock.monotonic()
            for step in room.STEPS:
                await self.write(step)
            self._recovered = failures

    def subscribe(self, *kinds: str) -> Subscription:
        """Follow the commits after `revision`, from the running event loop; only `kinds`, if given."""
        subscription = Subscription(self.revision, frozenset(kinds) or None)
        alive = {follower for follower in self._followers if not follower.closed}
        self._followers = frozenset(alive | {subscription})
        return subscription

    async def close(self) -> None:
        """Finish queued writes, then let go of the file."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._writer.stop)
        self._threads.shutdown(wait=True)
        self._read_engine.dispose()
        self._write_engine.dispose()

    def _future(self) -> asyncio.Future[Any]:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        return asyncio.get_running_loop().create_future()

    def _read(self, fn: Callable[[Transaction], T]) -> T:
        try:
            with self._read_engine.connect() as conn, conn.begin() as transaction:
                value = fn(Transaction(conn, self._clock.now()))
                transaction.rollback()
                return value
        except SQLAlchemyError as error:
            failure = told(error)
            if failure is error:
                raise
            if isinstance(failure, Damaged):
                self._damage = failure
            raise failure from error

    def _published(self, settled: Sequence[Settled], change: Change | None) -> None:
        """Called by the writer after each commit: hand everything to the loops, one call each."""
        followers = self._followers if change is not None else frozenset()
        loops = {one.call.loop for one in settled} | {each.loop for each in followers}
        for loop in loops:
            try:
                loop.call_soon_threadsafe(self._deliver, loop, settled, change)
            except RuntimeError:  # that loop has ended; nobody waits there
                continue

    def _deliver(
        self,
        loop: asyncio.AbstractEventLoop,
        settled: Sequence[Settled],
        change: Change | None,
    ) -> None:
        if change is not None:
            self.revision = max(self.revision, change.revision)
            for follower in self._followers:
                if follower.loop is loop and not follower.closed:
                    follower.push(change)
        for one in settled:
            if one.call.loop is loop:
                one.tell()


def _make_private(path: Path) -> None:
    """Make the folder and the file for their user alone; SQLite gives its other files the same mode."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _check(conn: Connection, url: str) -> None:
    """Read a small file through. Raises UnusableDatabase."""
    pages, size = (
        int(conn.exec_driver_sql(f"PRAGMA {name}").scalar_one())
        for name in ("page_count", "page_size")
    )
    if pages * size <= CHECKED_BYTES:
        found = str(conn.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
        if found != "ok":
            where = make_url(url).database
            raise UnusableDatabase(f"{where} is damaged ({found}); {_REMEDY}")

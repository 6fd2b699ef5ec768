"""The database: group commit for writes, snapshots for reads, a feed of what each commit touched.

Functions over a `Transaction` are synchronous; here they get their transaction. Writes go to one thread
(`hub.store.writer`), reads to a few connections that can not write.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from hub.store import changes, room, sealing
from hub.store.backends.backend import Backend, Learn
from hub.store.backends.choose import backend_of
from hub.store.errors import (
    REMEDY,
    Damaged,
    LeftBehind,
    OutcomeUnknown,
    StoreUnavailable,
    UnusableDatabase,
    told,
)
from hub.store.feed import Change, Listener, Subscription
from hub.store.follower import Follower
from hub.store.keyring import NO_KEYS, Keyring
from hub.store.schema import migrate
from hub.store.transaction import Transaction
from hub.store.writer import Call, Settled, Writer
from shared.clock import Clock

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item
READERS = 4
LOOK_S = 0.5  # between two looks of a waiting call at the silence of the database
PROBE_EVERY_S = 0.5  # after a failed write, the minimum interval of tests of the disk


class Database:
    """The services' handle on the store: `write`, `write_shared`, `read`, `subscribe`."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        learn: Learn | None = None,
        *,
        may_migrate: bool = True,
    ) -> None:
        self._clock = clock
        self.shared = backend.shared  # with other hubs
        engine = backend.writer_engine()
        with contextlib.ExitStack() as undo:
            undo.callback(engine.dispose)
            writing = engine.connect()
            undo.callback(writing.close)
            with writing.begin():
                backend.enter(writing, first=True)
                backend.check(writing)
                if learn is not None:
                    learn(backend.now(writing))
                if migrate(writing, allowed=may_migrate, running=backend.hubs(writing)):
                    backend.disconnect(writing)
                begun = Transaction(writing, clock.now())
                sealing.enter(begun, backend.where)
                self.revision = changes.last_revision(begun)
            undo.pop_all()  # the writer keeps the connection
        self._read_engine = backend.reader_engine(READERS)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._followers: frozenset[Subscription] = (
            frozenset()
        )  # replaced, never changed: two threads
        self._closed = False
        self._recovered = 0  # failures of the writer that are known to be over
        self._probed_at = -PROBE_EVERY_S
        self._probing = asyncio.Lock()
        self._damage: Damaged | None = None
        self._left_behind: LeftBehind | None = None
        self._telling = threading.Lock()  # commits are announced in order, whoever found them
        self._told = self.revision
        self._writer = Writer(backend, writing, clock, self.revision, self._published)
        self._follower = Follower(backend, self._found, learn) if backend.shared else None

    @classmethod
    def open(
        cls,
        url: str,
        clock: Clock,
        learn: Learn | None = None,
        *,
        keys: Keyring = NO_KEYS,
        may_migrate: bool = True,
    ) -> Self:
        """Open `sqlite:///PATH` or `postgresql://…`: a new database, or one of an earlier release.

        `learn` receives the database's own time, if several hubs share it; `keys` open and close its
        secrets. Unless `may_migrate`, the tables must be there as this release needs them. Raises
        UnknownSchema, SchemaBehind, UnusableDatabase.
        """
        backend = backend_of(url, keys=keys)
        try:
            backend.prepare()
            return cls(backend, clock, learn, may_migrate=may_migrate)
        except DBAPIError as error:
            why = " ".join(str(error.orig).split())
            remedy = "" if backend.shared else f"; {REMEDY}"
            raise UnusableDatabase(f"{backend.where}: {why}{remedy}") from error
        except OSError as error:
            raise UnusableDatabase(f"{backend.where}: {error.strerror}") from error

    async def write(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in a transaction; returns after the commit is durable.

        Exceptions of `fn` are raised here, and only `fn`'s own changes are undone. Raises
        StoreUnavailable if the transaction could not be committed, OutcomeUnknown if it may have been, or may
        still be. `fn` may run again if those that it shared the transaction with spoil it.
        """
        future: asyncio.Future[T] = self._future()
        self._writer.put(Call(fn, None, shared=False, loop=future.get_loop(), future=future))
        return await self._written(future)

    async def write_shared(
        self, fn: Callable[[Transaction, Sequence[I]], Sequence[T | Exception]], item: I
    ) -> T:
        """Like `write`, for one item: `fn` gets the items of all callers that share the commit.

        `fn` returns one value per item, in order; an exception among them is raised to its caller.
        If `fn` raises, it is called again for each item alone.
        """
        future: asyncio.Future[T] = self._future()
        self._writer.put(Call(fn, item, shared=True, loop=future.get_loop(), future=future))
        return await self._written(future)

    async def read(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` over one consistent snapshot; it can not write. Raises StoreUnavailable."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        self._require_answers()
        loop = asyncio.get_running_loop()
        answer = loop.run_in_executor(self._threads, self._read, fn)
        if not await self._is_answered(answer):
            answer.cancel()
            raise StoreUnavailable(self._silence())
        return await answer

    async def require_writable(self) -> None:
        """Raises StoreUnavailable while writes fail: the disk is full, gone, or the file is damaged.

        Costs nothing until a write has failed; then one small write at a time, until it succeeds.
        """
        over = self._damage or self._writer.damage or self.left_behind
        if over is not None:
            raise over
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

    @property
    def left_behind(self) -> LeftBehind | None:
        """The reason why this process must restart: the missed changes are kept nowhere."""
        return self._left_behind or self._writer.left_behind

    def subscribe(self, *kinds: str, keyed: bool = True) -> Subscription:
        """Follow the commits after `revision`, from the running event loop; only `kinds`, if given."""
        return self._add(Subscription(self.revision, frozenset(kinds) or None, keyed=keyed))

    def listen(self, kind: str, told: Callable[[Change], None]) -> Subscription:
        """Have `told` called, from the running event loop, with each commit that touches `kind`."""
        return self._add(Listener(self.revision, kind, told))

    def _add(self, subscription: Subscription) -> Subscription:
        alive = {follower for follower in self._followers if not follower.closed}
        self._followers = frozenset(alive | {subscription})
        return subscription

    async def close(self) -> None:
        """Finish queued writes, then release the file."""
        if self._closed:
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        if self._follower is not None:
            await loop.run_in_executor(None, self._follower.stop)
        await loop.run_in_executor(None, self._writer.stop)
        self._threads.shutdown(wait=True)
        self._read_engine.dispose()

    async def _written(self, future: asyncio.Future[T]) -> T:
        if not await self._is_answered(future):
            future.set_exception(
                OutcomeUnknown(f"{self._silence()}, and the write may yet take place")
            )
        return await future

    async def _is_answered(self, future: asyncio.Future[Any]) -> bool:
        """Wait for an answer; False if the database falls silent first."""
        if self._follower is None:
            return True  # no server that could be silent
        try:
            while not future.done():
                await asyncio.wait({future}, timeout=LOOK_S)
                if not future.done() and self.is_silent:
                    return False
        except asyncio.CancelledError:
            future.cancel()
            raise
        return True

    @property
    def is_silent(self) -> bool:
        """True while the database's server hangs: calls are refused until it answers."""
        return self._silent_s() > 0

    def _silent_s(self) -> float:
        """Seconds since a question or a commit has no answer; 0.0 while the server answers.

        A server that has lost its synchronous standby answers questions, and commits nothing.
        """
        if self._follower is None:
            return 0.0
        return max(self._follower.silence.silent_s(), self._writer.commits.silent_s())

    def _silence(self) -> str:
        return f"the database has not answered for {self._silent_s():.0f} s"

    def _require_answers(self) -> None:
        if self.is_silent:
            raise StoreUnavailable(self._silence())

    def _future(self) -> asyncio.Future[Any]:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        self._require_answers()
        return asyncio.get_running_loop().create_future()

    def _read(self, fn: Callable[[Transaction], T]) -> T:
        try:
            try:
                return self._read_once(fn)
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                return self._read_once(fn)  # the server has come back since it was last asked
        except SQLAlchemyError as error:
            failure = told(error)
            if failure is error:
                raise
            if isinstance(failure, Damaged):
                self._damage = failure
            raise failure from error

    def _read_once(self, fn: Callable[[Transaction], T]) -> T:
        with self._read_engine.connect() as conn, conn.begin() as transaction:
            value = fn(Transaction(conn, self._clock.now()))
            transaction.rollback()
            return value

    def _published(self, settled: Sequence[Settled], news: Sequence[Change]) -> None:
        """Called by the writer after each commit: hand everything to the loops, one call each."""
        with self._telling:
            fresh = [change for change in news if change.revision > self._told]
            if fresh:
                self._told = fresh[-1].revision
            followers = self._followers if fresh else frozenset()
            loops = {one.call.loop for one in settled} | {each.loop for each in followers}
            if fresh and not loops:  # no order to keep with anyone
                self.revision = self._told
            for loop in loops:
                try:
                    loop.call_soon_threadsafe(self._deliver, loop, settled, fresh)
                except RuntimeError:  # that loop has ended; its callers are gone
                    continue

    def _found(self, conn: Connection, revision: int) -> None:
        """Called by the follower: tell what others have committed, if `revision` (0: any) is not told yet."""
        if revision and revision <= self._told:
            return
        try:
            news = changes.merged(Transaction(conn, self._clock.now()), self._told)
        except LeftBehind as error:
            self._left_behind = error
            raise
        if news:
            self._published((), news)

    def _deliver(
        self,
        loop: asyncio.AbstractEventLoop,
        settled: Sequence[Settled],
        news: Sequence[Change],
    ) -> None:
        for change in news:
            self.revision = max(self.revision, change.revision)
            for follower in self._followers:
                if follower.loop is loop and not follower.closed:
                    follower.push(change)
        for one in settled:
            if one.call.loop is loop:
                one.tell()

"""Group commit: one thread that writes, many callers that share its transactions.

The thread drains its queue into one transaction, gives each caller a savepoint, commits once, and only
then answers the callers, all in one callback per event loop. Cost per job falls as load
grows; nothing is acknowledged before it is durable. A transaction that can not be committed (a full
disk) leaves nothing behind, and the next one begins on sound ground: `hub.store.room`.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from hub.store import changes, driver, room, sealing
from hub.store.backends.backend import Backend
from hub.store.errors import Damaged, LeftBehind, OutcomeUnknown, StoreUnavailable, told
from hub.store.feed import Change
from hub.store.silence import SilenceWatch
from hub.store.transaction import Memory, Transaction
from shared.clock import Clock

# Callers that may share one commit: bounds how long the first of them waits for the last.
MAX_CALLERS = 512
# How long the next commit waits for those that the last one answered: a share of what that one took.
PATIENCE = 0.25
MOST_PATIENCE_S = 0.005
SAVEPOINT, RELEASE, BACK = (
    "SAVEPOINT unit",
    "RELEASE SAVEPOINT unit",
    "ROLLBACK TO SAVEPOINT unit",
)


@dataclass(frozen=True, slots=True)
class Call:
    """One caller: `fn(unit)`, or one item for `fn(unit, items)` which it shares with others."""

    fn: Callable[..., Any]
    item: Any
    shared: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]

    @property
    def is_given_up(self) -> bool:
        """True if its caller got OutcomeUnknown: it must not begin."""
        return self.future.done() and not self.future.cancelled()


@dataclass(frozen=True, slots=True)
class Settled:
    """The answer for one caller."""

    call: Call
    value: Any = None
    error: BaseException | None = None

    def tell(self) -> None:
        if self.call.future.done():
            return  # the caller has gone
        if self.error is not None:
            self.call.future.set_exception(self.error)
        else:
            self.call.future.set_result(self.value)


Published = Callable[[Sequence[Settled], Sequence[Change]], None]
Outcome = tuple[list[Settled], list[Change]]


class Writer:
    """The writing thread, with the open connection `writing` of `backend`.

    `published(settled, changes)` is called in it after every commit. `changes`: what was committed since
    the last call, by others first where others write too.
    """

    def __init__(
        self,
        backend: Backend,
        writing: Connection,
        clock: Clock,
        revision: int,
        published: Published,
    ) -> None:
        self._backend = backend
        self._engine: Engine = writing.engine
        self._conn = writing
        self._clock = clock
        self._revision = revision
        self._published = published
        self._memory: Memory = {}
        self.failures = 0  # transactions that the database could not take
        self.damage: Damaged | None = None
        self.left_behind: LeftBehind | None = None
        self.commits = SilenceWatch()
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def put(self, call: Call) -> None:
        """Queue a call; its future is resolved in its own loop after the commit."""
        self._queue.put(call)

    def stop(self) -> None:
        """Finish what is queued, then end the thread."""
        self._queue.put(None)
        self._thread.join()
        self._conn.close()
        self._engine.dispose()

    def _run(self) -> None:
        last = False
        expected, patience_s = 1, 0.0
        while not last:
            first = self._queue.get()
            if first is None:
                return
            calls, last = self._gather(first, expected, patience_s)
            began = self._clock.monotonic()
            for settled, news in self._turn(calls):
                self._published(settled, news)
            took = self._clock.monotonic() - began
            expected, patience_s = len(calls), min(took * PATIENCE, MOST_PATIENCE_S)

    def _gather(self, first: Call, expected: int, patience_s: float) -> tuple[list[Call], bool]:
        """Those that share the next commit; is it the last?

        Callers that were answered together come back together: a commit that began with the first of
        them would let the others wait for the one after. So it waits for as many as last time, for a
        fraction of a commit's duration. One that calls alone never waits.
        """
        calls = [first]
        until = self._clock.monotonic() + patience_s
        while len(calls) < MAX_CALLERS:
            left = until - self._clock.monotonic() if len(calls) < expected else 0.0
            try:
                following = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return calls, True
            calls.append(following)
        return calls, False

    def _turn(self, calls: list[Call]) -> Iterator[Outcome]:
        """One transaction for `calls`; if it can not be committed, one for each of them.

        So one caller that asks for more than there is room for fails alone, and a connection that was lost
        meanwhile is not its caller's matter. If there is no room at all, the rest is refused without
        another try. Of what may have been committed nothing is tried again: it would be done twice.
        """
        failure, was_open = None, not self._conn.closed
        try:
            outcome = self._transact(calls)
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers must hear it
            failure = self._undo(error)
        if failure is None:
            yield outcome
        elif isinstance(failure, OutcomeUnknown) or not (
            len(calls) > 1 or self._is_lost(was_open)
        ):
            yield [Settled(call, error=failure) for call in calls], []
        else:
            yield from self._one_by_one(calls)

    def _is_lost(self, was_open: bool) -> bool:
        """True if the earlier connection is gone."""
        return was_open and self._conn.closed

    def _one_by_one(self, calls: list[Call]) -> Iterator[Outcome]:
        for place, call in enumerate(calls, 1):
            try:
                outcome = self._transact([call])
            except Exception as error:  # noqa: BLE001 - told to its caller
                failure = self._undo(error)
                yield [Settled(call, error=failure)], []
                if isinstance(failure, StoreUnavailable) and not self._has_room():
                    yield [Settled(each, error=failure) for each in calls[place:]], []
                    return
            else:
                yield outcome

    def _has_room(self) -> bool:
        """Does a small write succeed?"""
        try:
            for step in room.STEPS:
                with self._begun():
                    self._backend.enter(self._conn)
                    step(Transaction(self._conn, self._clock.now()))
        except Exception as error:  # noqa: BLE001 - an answer, not a fault
            self._undo(error)
            return False
        return True

    def _undo(self, error: Exception) -> Exception:
        """Leave nothing of a failed transaction behind; what to tell its caller.

        After a COMMIT that failed the transaction is over for SQLAlchemy, and may be open for SQLite: both
        are checked. A connection that can not even roll back is replaced.
        """
        self._memory.clear()
        try:
            if self._conn.invalidated:
                self._let_go()
            if not self._conn.closed:
                self._conn.rollback()
                held = self._conn.connection.dbapi_connection
                if held is not None:
                    held.rollback()
        except Exception:  # noqa: BLE001 - after any error, that connection is useless
            self._let_go()
        failure = told(error)
        if isinstance(failure, StoreUnavailable):
            self.failures += 1
        if isinstance(failure, Damaged):
            self.damage = failure
        if isinstance(failure, LeftBehind):
            self.left_behind = failure
        return failure

    def _let_go(self) -> None:
        """The next turn reconnects, as soon as there is something to connect to."""
        with contextlib.suppress(SQLAlchemyError):
            self._conn.invalidate()
        with contextlib.suppress(SQLAlchemyError):
            self._conn.close()

    def _begun(self) -> RootTransaction:
        if self._conn.closed:
            self._conn = self._engine.connect()
        return self._conn.begin()

    def _transact(self, calls: list[Call]) -> Outcome:
        transaction = self._begun()
        entered = self._backend.enter(self._conn)
        calls = [call for call in calls if not call.is_given_up]  # while it waited for the server
        groups = _grouped(calls)
        whole = Transaction(self._conn, self._clock.now())
        news = self._catch_up(whole) if self._backend.shared else []
        settled: list[Settled] = []
        if len(groups) == 1 and len(calls) == 1:  # alone: no savepoint, its failure is ours
            part = Transaction(self._conn, whole.now, self._memory)
            settled.append(Settled(calls[0], _invoke(part, calls)[0]))
            self._absorb(whole, part)
        else:
            for group in groups:
                settled.extend(self._run_group(whole, group))
        self._claim_key(whole)
        change = changes.seal(whole, _newest(news, self._revision) + 1)
        if change is not None:
            self._backend.tell(self._conn, change.revision)
            news.append(change)
        self._commit(transaction, entered.ticket)
        self._revision = _newest(
            news, self._revision
        )  # not before: a failed write has announced nothing
        return settled, news

    def _claim_key(self, whole: Transaction) -> None:
        """Values sealed here use a key that the database names, whatever others consider finished."""
        part = Transaction(self._conn, whole.now, self._memory)
        sealing.claim(part)
        self._absorb(whole, part)

    def _catch_up(self, whole: Transaction) -> list[Change]:
        """Commits of others since our last transaction; no other process writes meanwhile."""
        news = changes.merged(whole, self._revision)
        for change in news:
            for kind in change.keys:
                self._memory.pop(kind, None)
        return news

    def _commit(self, transaction: RootTransaction, ticket: str) -> None:
        """Raises OutcomeUnknown, or what a commit raised that has not taken place."""
        try:
            with self.commits.asking():
                transaction.commit()
        except Exception as error:
            if not ticket:
                raise
            done = self._backend.has_committed(self._engine, ticket)
            if done is None:
                raise OutcomeUnknown(
                    f"a commit broke, and may have taken place: {error}"
                ) from error
            if not done:
                raise
            self._let_go()

    def _run_group(self, whole: Transaction, group: list[Call]) -> list[Settled]:
        """Run callers that share one function; if that fails as a whole, run each alone."""
        part = Transaction(self._conn, whole.now, self._memory, whole.touched)
        driver.run(self._conn, SAVEPOINT)
        try:
            values = _invoke(part, group)
        except Exception as error:  # noqa: BLE001 - rolled back alone, told to its caller
            driver.run(self._conn, BACK)
            self._memory.clear()
            driver.run(self._conn, RELEASE)
            if len(group) == 1:
                return [Settled(group[0], error=told(error))]
            return [settled for call in group for settled in self._run_group(whole, [call])]
        driver.run(self._conn, RELEASE)
        self._absorb(whole, part)
        return [
            Settled(call, error=value) if isinstance(value, Exception) else Settled(call, value)
            for call, value in zip(group, values, strict=True)
        ]

    def _absorb(self, whole: Transaction, part: Transaction) -> None:
        whole.absorb(part)
        for kind in part.touched:
            self._memory.pop(kind, None)


def _newest(news: Sequence[Change], before: int) -> int:
    return news[-1].revision if news else before


def _grouped(calls: list[Call]) -> list[list[Call]]:
    """Callers in order of arrival; those that share a function stand with the first of them."""
    groups: list[list[Call]] = []
    sharing: dict[Callable[..., Any], list[Call]] = {}
    for call in calls:
        if not call.shared:
            groups.append([call])
        elif call.fn in sharing:
            sharing[call.fn].append(call)
        else:
            sharing[call.fn] = [call]
            groups.append(sharing[call.fn])
    return groups


def _invoke(part: Transaction, group: list[Call]) -> Sequence[Any]:
    call = group[0]
    if not call.shared:
        return (call.fn(part),)
    values: Sequence[Any] = call.fn(part, [each.item for each in group])
    if len(group) == 1 and isinstance(values[0], Exception):
        raise values[0]
    return values

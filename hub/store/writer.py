"""Group commit: one thread that writes, many callers that share its transactions.

The thread drains its queue into one transaction, gives each caller a savepoint of its own, commits
once, and only then tells the callers, all in one callback per event loop. Cost per job falls as load
grows; nothing is acknowledged before it is durable. A transaction that can not be committed (a full
disk) leaves nothing behind, and the next one begins on sound ground: `hub.store.room`.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from hub.store import changes, events, room
from hub.store.errors import Damaged, StoreUnavailable, told
from hub.store.feed import Change
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


@dataclass(frozen=True, slots=True)
class Settled:
    """What to tell one caller."""

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


class Writer:
    """The writing thread. `published(settled, change)` is called in it after every commit."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        revision: int,
        published: Callable[[Sequence[Settled], Change | None], None],
    ) -> None:
        self._engine = engine
        self._conn: Connection = engine.connect()
        self._clock = clock
        self._revision = revision
        self._published = published
        self._memory: Memory = {}
        self.failures = 0  # transactions that the database could not take
        self.damage: Damaged | None = None
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

    def _run(self) -> None:
        last = False
        expected, patience_s = 1, 0.0
        while not last:
            first = self._queue.get()
            if first is None:
                return
            calls, last = self._gather(first, expected, patience_s)
            began = self._clock.monotonic()
            for settled, change in self._turn(calls):
                self._published(settled, change)
            took = self._clock.monotonic() - began
            expected, patience_s = len(calls), min(took * PATIENCE, MOST_PATIENCE_S)

    def _gather(self, first: Call, expected: int, patience_s: float) -> tuple[list[Call], bool]:
        """Those that share the next commit; is it the last?

        Callers that were answered together come back together: a commit that began with the first of
        them would let the others wait for the one after. So as many as last time are waited for, for
        a fraction of what a commit takes. One that calls alone never waits.
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

    def _turn(self, calls: list[Call]) -> Iterator[tuple[list[Settled], Change | None]]:
        """One transaction for `calls`; if it can not be committed, one for each of them.

        So one caller that asks for more than there is room for fails alone. Where there is no room at
        all, those that are left are refused without another try.
        """
        failure = None
        try:
            settled, change = self._transact(calls)
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers must hear it
            failure = self._undo(error)
        if failure is None:
            yield settled, change
        elif len(calls) == 1:
            yield [Settled(calls[0], error=failure)], None
        else:
            yield from self._one_by_one(calls)

    def _one_by_one(self, calls: list[Call]) -> Iterator[tuple[list[Settled], Change | None]]:
        for place, call in enumerate(calls, 1):
            try:
                outcome = self._transact([call])
            except Exception as error:  # noqa: BLE001 - told to its caller
                failure = self._undo(error)
                yield [Settled(call, error=failure)], None
                if isinstance(failure, StoreUnavailable) and not self._has_room():
                    yield [Settled(each, error=failure) for each in calls[place:]], None
                    return
            else:
                yield outcome

    def _has_room(self) -> bool:
        """Does a small write succeed?"""
        try:
            for step in room.STEPS:
                with self._conn.begin():
                    step(Transaction(self._conn, self._clock.now()))
        except Exception as error:  # noqa: BLE001 - an answer, not a fault
            self._undo(error)
            return False
        return True

    def _undo(self, error: Exception) -> Exception:
        """Leave nothing of a failed transaction behind; what to tell its caller.

        After a COMMIT that failed the transaction is over for SQLAlchemy, and may be open for SQLite:
        both are asked. A connection that can not even roll back is replaced.
        """
        self._memory.clear()
        try:
            self._conn.rollback()
            held = self._conn.connection.dbapi_connection
            if held is not None:
                held.rollback()
        except Exception:  # noqa: BLE001 - whatever it is, that connection is of no more use
            self._conn = self._connected_anew()
        failure = told(error)
        if isinstance(failure, StoreUnavailable):
            self.failures += 1
        if isinstance(failure, Damaged):
            self.damage = failure
        return failure

    def _connected_anew(self) -> Connection:
        try:
            self._conn.invalidate()
            self._conn.close()
            return self._engine.connect()
        except SQLAlchemyError:
            return self._conn  # the next turn fails as this one did, and tries again

    def _transact(self, calls: list[Call]) -> tuple[list[Settled], Change | None]:
        groups = _grouped(calls)
        transaction = self._conn.begin()
        whole = Transaction(self._conn, self._clock.now())
        settled: list[Settled] = []
        if len(groups) == 1 and len(calls) == 1:  # alone: no savepoint, its failure is ours
            part = Transaction(self._conn, whole.now, self._memory)
            settled.append(Settled(calls[0], _invoke(part, calls)[0]))
            self._absorb(whole, part)
        else:
            for group in groups:
                settled.extend(self._run_group(whole, group))
        change = self._seal(whole)
        transaction.commit()
        if change is not None:
            self._revision = change.revision
        return settled, change

    def _run_group(self, whole: Transaction, group: list[Call]) -> list[Settled]:
        """Run callers that share one function; if that fails as a whole, run each by itself."""
        part = Transaction(self._conn, whole.now, self._memory)
        self._conn.exec_driver_sql(SAVEPOINT)
        try:
            values = _invoke(part, group)
        except Exception as error:  # noqa: BLE001 - rolled back alone, told to its caller
            self._conn.exec_driver_sql(BACK)
            self._memory.clear()
            self._conn.exec_driver_sql(RELEASE)
            if len(group) == 1:
                return [Settled(group[0], error=told(error))]
            return [settled for call in group for settled in self._run_group(whole, [call])]
        self._conn.exec_driver_sql(RELEASE)
        self._absorb(whole, part)
        return [
            Settled(call, error=value) if isinstance(value, Exception) else Settled(call, value)
            for call, value in zip(group, values, strict=True)
        ]

    def _absorb(self, whole: Transaction, part: Transaction) -> None:
        whole.absorb(part)
        for kind in part.touched:
            self._memory.pop(kind, None)

    def _seal(self, whole: Transaction) -> Change | None:
        """Write the events, then, last, what was touched under the next revision."""
        if whole.events:
            whole.touch("events", str(events.add(whole, whole.events)))
        if not whole.touched:
            return None
        change = Change(
            self._revision + 1, {kind: frozenset(keys) for kind, keys in whole.touched.items()}
        )
        changes.add(whole, change.revision, change.keys)
        return change


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

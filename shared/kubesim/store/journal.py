"""Persistent state: objects and watch history in SQLite, written by group commit.

Changes are applied in memory in order; everything that waits is committed in one transaction (WAL,
synchronous=FULL). Replies and watch events leave only after it (`committed`, `WatchHub.release`), so
a kill -9 loses no acknowledged write and no watcher has seen a write that vanishes. Writes are
prefixes: what is on disk is always a state that memory went through.

There is one table, which only grows at its end: the last row of an object is the object. Pruning
leaves those; a row that outlived its time in the history goes when its object changes again.

Rows are inserted in the event loop: a thread would fight the loop for the interpreter lock at every
row. The commit, which waits for the disk, moves to a thread of its own where the disk is slow.
"""

import asyncio
import sqlite3
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import structlog

from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.store.objects import Event, EventType, ObjectStore
from shared.kubesim.store.serializer import WireCache
from shared.kubesim.store.watch import WatchHub

log = structlog.get_logger(__name__)

KEPT_CHANGES = 50_000
_RETRY_S = 0.2
_SLOW_COMMIT_S = 0.001
# A version of an object has 2 to 3 kB: several fit a page, and few pages are touched by a commit.
_PRAGMAS = (
    "PRAGMA page_size = 8192",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 4096",
)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS changes (
    rv INTEGER PRIMARY KEY, type TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS floor (only INTEGER PRIMARY KEY CHECK (only = 1), rv INTEGER NOT NULL);
"""

# rv, type, resource key, body, rv of the version before (0: none)
Row = tuple[int, EventType, str, bytes, int]


class Journal:
    """The journal of one cluster. Built before anything is written; `load`, then `start`.

    `kept`: how many changes at least a watch can go back after a restart.
    """

    def __init__(
        self,
        path: Path,
        store: ObjectStore,
        hub: WatchHub,
        wire: WireCache,
        *,
        kept: int = KEPT_CHANGES,
    ) -> None:
        self._path = path
        self._kept = kept
        self._store = store
        self._hub = hub
        self._wire = wire
        self._pending: list[Row] = []
        self._floor = 0  # history is complete for every change after it
        self._next_floor = 0  # as soon as the group is on disk
        self._committing = False
        self._scheduled = False
        self._commit_s = 0.0  # how long a commit takes, smoothed
        self._database: sqlite3.Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kubesim-journal")
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.durable_rv = 0

    def load(self) -> None:
        """Fill the store and the watch history with what was kept, then follow the store."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        for pragma in _PRAGMAS:
            database.execute(pragma)
        database.executescript(_SCHEMA)
        self._database = database
        rows = database.execute("SELECT rv, type, key, body FROM changes ORDER BY rv").fetchall()
        floor = database.execute("SELECT rv FROM floor").fetchone()
        self._floor = self._next_floor = floor[0] if floor else 0
        events = _events(rows)
        rv = events[-1].rv if events else 0
        self._store.restore(_latest(events), rv)
        events = [event for event in events if event.rv > self._floor]
        self._hub.restore(events, self._floor, rv)
        self.durable_rv = rv
        self._store.subscribe(self._note)

    def start(self) -> None:
        """Begin to write; needs a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._schedule()

    async def stop(self) -> None:
        """Write what is left and close."""
        await self.committed(self._pending[-1][0] if self._pending else self.durable_rv)
        self._thread.shutdown()
        if self._database is not None:
            self._database.close()
            self._database = None

    async def committed(self, rv: int) -> None:
        """Return once every change up to `rv` is on disk."""
        if rv <= self.durable_rv:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((rv, future))
        await future

    # --- inside ----------------------------------------------------------------------------------

    def _note(self, event: Event) -> None:
        body = self._wire.of(event.object)
        before = int(event.old["metadata"]["resourceVersion"]) if event.old is not None else 0
        self._pending.append((event.rv, event.type, event.resource_key, body, before))
        self._schedule()

    def _schedule(self) -> None:
        """Write after what is ready in this turn of the loop, so that it shares one commit."""
        if self._loop is not None and self._pending and not (self._scheduled or self._committing):
            self._scheduled = True
            self._loop.call_soon(self._write_group)

    def _write_group(self) -> None:
        assert self._loop is not None
        self._scheduled = False
        rows, self._pending = self._pending, []
        slow = self._commit_s >= _SLOW_COMMIT_S
        try:
            self._insert(rows)
            if not slow:
                self._commit()
        except sqlite3.Error as fault:
            self._failed(rows, fault)
            return
        if not slow:
            self._settle(rows)
            return
        self._committing = True
        done = self._loop.run_in_executor(self._thread, self._commit)
        done.add_done_callback(lambda future: self._committed(rows, future))

    def _committed(self, rows: list[Row], future: asyncio.Future[None]) -> None:
        self._committing = False
        fault = future.exception()
        if fault is None:
            self._settle(rows)
        else:
            self._failed(rows, fault)

    def _failed(self, rows: list[Row], fault: BaseException) -> None:
        """A failing disk is tried again, and nobody is told meanwhile."""
        assert self._loop is not None
        log.error(
            "journal_write_failed", path=str(self._path), changes=len(rows), error=str(fault)
        )
        database = self._open_database()
        if database.in_transaction:
            database.rollback()
        self._pending = [*rows, *self._pending]
        self._scheduled = True
        self._loop.call_later(_RETRY_S, self._write_group)

    def _settle(self, rows: list[Row]) -> None:
        """The group is on disk: tell watchers and those who wait."""
        rv = self.durable_rv = rows[-1][0]
        self._floor = self._next_floor
        self._hub.release(rv)
        # Waiters ask for the newest version there is, so they stand in order.
        while self._waiting and self._waiting[0][0] <= rv:
            _, future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
        self._schedule()

    def _insert(self, rows: list[Row]) -> None:
        database = self._open_database()
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "INSERT INTO changes (rv, type, key, body) VALUES (?, ?, ?, ?)",
            [row[:4] for row in rows],
        )
        outlived = [(row[4],) for row in rows if 0 < row[4] <= self._floor]
        if outlived:
            database.executemany("DELETE FROM changes WHERE rv = ?", outlived)
        self._next_floor = self._floor
        oldest = rows[-1][0] - self._kept
        if oldest >= self._floor + self._kept // 10:
            self._prune(database, oldest)

    def _prune(self, database: sqlite3.Connection, rv: int) -> None:
        """Forget history up to `rv`: a watch from before gets 410 after a restart.

        Rows that are the newest of their object stay. The store is at this moment what the
        transaction makes the file, for a group holds all changes there are.
        """
        alive = {
            int(obj["metadata"]["resourceVersion"])
            for key in self._store.resource_keys()
            for obj in self._store.iterate(key)
        }
        passed = database.execute(
            "SELECT rv FROM changes WHERE rv > ? AND rv <= ?", (self._floor, rv)
        ).fetchall()
        database.executemany(
            "DELETE FROM changes WHERE rv = ?", [row for row in passed if row[0] not in alive]
        )
        database.execute("INSERT OR REPLACE INTO floor VALUES (1, ?)", (rv,))
        self._next_floor = rv

    def _commit(self) -> None:
        started = self._store.clock.monotonic()
        self._open_database().execute("COMMIT")
        took = self._store.clock.monotonic() - started
        self._commit_s += (took - self._commit_s) / 8

    def _open_database(self) -> sqlite3.Connection:
        assert self._database is not None, "load comes first, nothing follows stop"
        return self._database


def _events(rows: list[tuple[int, EventType, str, bytes]]) -> list[Event]:
    """The kept history as events; each version's predecessor is the one before it in the history."""
    before: dict[tuple[str, str, str], Object] = {}
    events = []
    for rv, kind, key, body in rows:
        obj = orjson.loads(body)
        place = (key, *metadata.identity(obj))
        old = before.pop(place, None)
        if kind == "DELETED":
            old = old or obj
        else:
            before[place] = obj
        events.append(Event(kind, key, obj, old, rv))
    return events


def _latest(events: list[Event]) -> list[tuple[str, Object]]:
    """The objects that a history ends with: (resource key, object), by place."""
    last = {(e.resource_key, *metadata.identity(e.object)): e for e in events}
    return [
        (place[0], last[place].object) for place in sorted(last) if last[place].type != "DELETED"
    ]

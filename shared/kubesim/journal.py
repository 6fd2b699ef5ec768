"""What outlasts a restart: objects and watch history in SQLite, written by group commit.

Changes are applied in memory in order and handed to one writer thread, which commits everything that
waits in one transaction (WAL, synchronous=FULL). Replies and watch events leave only after it
(`committed`, `WatchHub.release`), so a kill -9 loses no acknowledged write and no watcher has seen a
write that vanishes. Writes are prefixes: what is on disk is always a state that memory went through.
"""

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import structlog

from shared.kubesim import metadata
from shared.kubesim.objects import Event, EventType, ObjectStore
from shared.kubesim.strategies import Object
from shared.kubesim.watch import WatchHub
from shared.kubesim.wire import WireCache

log = structlog.get_logger(__name__)

KEPT_CHANGES = 50_000
_PRUNE_EVERY = 5_000
_RETRY_S = 0.2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    key TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (key, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    rv INTEGER PRIMARY KEY, type TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS floor (only INTEGER PRIMARY KEY CHECK (only = 1), rv INTEGER NOT NULL);
"""

# (rv, type, resource key, namespace, name, body)
Row = tuple[int, str, str, str, str, bytes]


class Journal:
    """The journal of one cluster. Built before anything is written; `load`, then `start`."""

    def __init__(self, path: Path, store: ObjectStore, hub: WatchHub, wire: WireCache) -> None:
        self._path = path
        self._store = store
        self._hub = hub
        self._wire = wire
        self._pending: list[Row] = []
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.durable_rv = 0

    def load(self) -> None:
        """Fill the store and the watch history with what was kept, then follow the store."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as database:
            database.executescript(_SCHEMA)
            objects = [
                (str(key), orjson.loads(body))
                for key, body in database.execute("SELECT key, body FROM objects")
            ]
            rows = database.execute(
                "SELECT rv, type, key, body FROM changes ORDER BY rv"
            ).fetchall()
            floor = database.execute("SELECT rv FROM floor").fetchone()
        events = _events(rows)
        rv = events[-1].rv if events else 0
        self._store.restore(objects, rv)
        self._hub.restore(events, floor[0] if floor else 0, rv)
        self.durable_rv = rv
        self._store.subscribe(self._note)

    def start(self) -> None:
        """Begin to write; needs a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._write_all, name="kubesim-journal", daemon=True
        )
        self._thread.start()

    async def stop(self) -> None:
        """Write what is left and close."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
            self._thread = None

    async def committed(self, rv: int) -> None:
        """Return once every change up to `rv` is on disk."""
        if rv <= self.durable_rv:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((rv, future))
        await future

    # --- in the event loop -----------------------------------------------------------------------

    def _note(self, event: Event) -> None:
        namespace, name = metadata.identity(event.object)
        body = self._wire.of(event.object)
        with self._changed:
            self._pending.append((event.rv, event.type, event.resource_key, namespace, name, body))
            self._changed.notify()

    def _settle(self, rv: int) -> None:
        """Everything up to `rv` is on disk: tell watchers and those who wait."""
        self.durable_rv = rv
        self._hub.release(rv)
        # Waiters ask for the newest version there is, so they stand in order.
        while self._waiting and self._waiting[0][0] <= rv:
            _, future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)

    # --- in the writer thread --------------------------------------------------------------------

    def _write_all(self) -> None:
        with self._connection() as database:
            since_pruned = 0
            while True:
                rows = self._next_rows()
                if not rows:
                    return
                self._commit(database, rows)
                since_pruned += len(rows)
                if since_pruned >= _PRUNE_EVERY:
                    since_pruned = 0
                    self._prune(database, rows[-1][0] - KEPT_CHANGES)

    def _next_rows(self) -> list[Row]:
        with self._changed:
            while not self._pending and not self._closing:
                self._changed.wait()
            rows, self._pending = self._pending, []
            return rows

    def _commit(self, database: sqlite3.Connection, rows: list[Row]) -> None:
        """Write one group; a failing disk is tried again, and nobody is told meanwhile."""
        while True:
            try:
                self._write(database, rows)
                break
            except sqlite3.Error:
                log.exception("journal_write_failed", path=str(self._path), changes=len(rows))
                if database.in_transaction:
                    database.rollback()
                with self._changed:
                    if self._closing:
                        return
                    self._changed.wait(_RETRY_S)
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._settle, rows[-1][0])

    def _write(self, database: sqlite3.Connection, rows: list[Row]) -> None:
        # Of several versions of an object in one group only the last needs to reach `objects`.
        last = {(row[2], row[3], row[4]): row for row in rows}
        kept = [(*place, row[5]) for place, row in last.items() if row[1] != "DELETED"]
        gone = [place for place, row in last.items() if row[1] == "DELETED"]
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "INSERT INTO changes (rv, type, key, body) VALUES (?, ?, ?, ?)",
            [(row[0], row[1], row[2], row[5]) for row in rows],
        )
        database.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", kept)
        database.executemany(
            "DELETE FROM objects WHERE key = ? AND namespace = ? AND name = ?", gone
        )
        database.execute("COMMIT")

    def _prune(self, database: sqlite3.Connection, rv: int) -> None:
        """Forget changes up to `rv`; a watch from before gets 410 after a restart."""
        if rv <= 0:
            return
        try:
            database.execute("BEGIN IMMEDIATE")
            database.execute("DELETE FROM changes WHERE rv <= ?", (rv,))
            database.execute("INSERT OR REPLACE INTO floor VALUES (1, ?)", (rv,))
            database.execute("COMMIT")
        except sqlite3.Error:
            log.exception("journal_prune_failed", path=str(self._path))
            if database.in_transaction:
                database.rollback()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            yield database
        finally:
            database.close()


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

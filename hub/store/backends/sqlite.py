"""SQLite: one file, one hub. The default; nothing else has to run."""

import datetime as dt
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool, StaticPool

from hub.store import driver
from hub.store.backends import compiled
from hub.store.backends.backend import Entered, Feed
from hub.store.columns import give_keys
from hub.store.errors import REMEDY, UnusableDatabase
from hub.store.keyring import NO_KEYS, Keyring
from shared.clock import SystemClock

BUSY_TIMEOUT_S: Final = 30
# Pages of 4 KiB in the log before they are moved into the file: 32 MiB, so that a burst of commits
# pays for few moves.
CHECKPOINT_PAGES: Final = 8192
# A larger file is not read through at start: damage is reported when it is met.
CHECKED_BYTES: Final = 64 << 20


def address_of(path: Path) -> str:
    """sqlite:///PATH, whatever letters the path has."""
    return URL.create("sqlite", database=str(path)).render_as_string()


class Sqlite:
    """`url`: sqlite:///PATH, a new file or one of this or an earlier release."""

    shared = False

    def __init__(self, url: str, keys: Keyring = NO_KEYS) -> None:
        self._url = url
        self._keys = keys
        self.where = make_url(url).database or ""

    def prepare(self) -> None:
        """The file is its user's alone; SQLite gives its other files the same mode."""
        if self.where and self.where != ":memory:":
            path = Path(self.where)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))

    def writer_engine(self) -> Engine:
        pragmas = ["PRAGMA synchronous=FULL"]
        return give_keys(_engine(self._url, StaticPool, "BEGIN IMMEDIATE", pragmas), self._keys)

    def reader_engine(self, size: int) -> Engine:
        engine = _engine(self._url, QueuePool, "BEGIN", ["PRAGMA query_only=ON"], pool_size=size)
        return give_keys(engine, self._keys)

    def check(self, conn: Connection) -> None:
        """Read a small file through."""
        pages, size = (
            int(driver.ask(conn, f"PRAGMA {name}")[0][0]) for name in ("page_count", "page_size")
        )
        if pages * size <= CHECKED_BYTES:
            found = str(driver.ask(conn, "PRAGMA quick_check(1)")[0][0])
            if found != "ok":
                raise UnusableDatabase(f"{self.where} is damaged ({found}); {REMEDY}")

    def enter(
        self, conn: Connection, *, first: bool = False
    ) -> Entered:  # BEGIN IMMEDIATE has seen to it
        return Entered()

    def has_committed(self, engine: Engine, ticket: str) -> bool:
        """A commit that fails here has not taken place."""
        return False

    def hubs(self, conn: Connection) -> list[str]:
        """None: a hub holds its folder for itself."""
        return []

    def staying_hubs(self, conn: Connection) -> list[str]:
        """None, either."""
        return []

    def disconnect(self, conn: Connection) -> None:
        """There are no others."""

    def now(self, conn: Connection) -> dt.datetime:
        """The clock of the machine that it runs on: ours."""
        return SystemClock().now()

    def tell(self, conn: Connection, revision: int) -> None:
        """No-op: SQLite has one hub."""

    def open_feed(self) -> Feed | None:
        return None


def _engine(
    url: str,
    pool: type[QueuePool] | type[StaticPool],
    begin: str,
    pragmas: Sequence[str],
    **options: int,
) -> Engine:
    engine = create_engine(
        make_url(url).set(drivername=compiled.SQLITE),
        poolclass=pool,
        execution_options=compiled.OF_SQLITE,
        hide_parameters=True,  # manifests hold what no log may say
        connect_args={
            "check_same_thread": False,
            "isolation_level": None,  # we say BEGIN ourselves: see below
            "timeout": BUSY_TIMEOUT_S,
        },
        **options,
    )

    def connected(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for pragma in (
            "PRAGMA journal_mode=WAL",
            f"PRAGMA journal_size_limit={64 << 20}",
            f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}",
            "PRAGMA temp_store=MEMORY",
            f"PRAGMA cache_size=-{64 << 10}",
            *pragmas,
        ):
            cursor.execute(pragma)
        cursor.close()

    def began(connection: Connection) -> None:
        driver.begin(connection, begin)

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", began)
    return engine

"""PostgreSQL: several hubs on one database.

One hub writes at a time: a transaction that writes begins by taking a lock of the whole database's (an
advisory one, which ends with the transaction), so that what holds for SQLite's one writer holds here,
and revisions are taken in the order of commits. A hub that stops in the middle (paused, cut off) loses
its connection, and with it the lock, after `IDLE_S`: by the server itself, or by the other hubs
(`hub.store.backends.stopped`). Reads wait for no writer.
"""

import contextlib
import datetime as dt
import functools
import os
import socket
import time
from typing import Any, Final

import psycopg
import structlog
from psycopg.types.string import StrDumper
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, QueuePool

from hub.store.backends import compiled, stopped
from hub.store.backends.backend import Entered, Feed
from hub.store.columns import give_keys
from hub.store.dialect import PATIENT_S
from hub.store.errors import UnusableDatabase
from hub.store.keyring import NO_KEYS, Keyring
from hub.store.schema import HEAD
from shared.documents import JsonView

OLDEST: Final = 13  # pg_current_xact_id
CONNECT_S: Final = 5
# A transaction idle for this long belongs to a hub that has stopped.
IDLE_S: Final = 6
LOCK_S: Final = 20  # a write that waits longer for the others is refused
_LOOK_S: Final = 2  # interval at which an opener checks whether the awaited ones have stopped
_LOCK: Final = 748_261_093  # the class of the hub's advisory locks
_log = structlog.get_logger(__name__)
_CHANNEL: Final = "roadstead"
HUB_NAME: Final = "roadstead-hub"  # by this name, and the revision that it needs, others see a hub
_ENTER: Final = (
    f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext(current_schema())), "
    "pg_current_xact_id()::text"
)
# The outcome of a commit is queried after these pauses, s: a server that restarts takes a while.
_ASKED: Final = (0.0, 0.2, 1.0, 3.0)
_ENDING: Final = (0.0, 0.1, 0.4, 1.5)  # seconds before each look at which hubs are still there
_SESSION: Final = {
    "timezone": "UTC",
    "lock_timeout": f"{LOCK_S}s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10s",
}


class _Text(StrDumper):
    """PostgreSQL keeps no NUL in texts: it is replaced, so that no caller's text stops a transaction."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


class Postgres:
    """`url`: postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE, with libpq's parameters behind `?`."""

    shared = True

    def __init__(
        self, url: str, name: str = f"{HUB_NAME} {HEAD}", keys: Keyring = NO_KEYS
    ) -> None:
        self._name = name
        self._keys = keys
        self._idle_s = IDLE_S if name.startswith(HUB_NAME) else PATIENT_S
        try:
            self._url = make_url(url).set(drivername=compiled.POSTGRES)
        except ArgumentError as error:
            raise UnusableDatabase("the database's address can not be read") from error
        self.where = self._url.set(drivername="postgresql").render_as_string(hide_password=True)

    def prepare(self) -> None:
        """Nothing is made: the database has to be there."""

    def writer_engine(self) -> Engine:
        return self._engine(NullPool, isolation_level="READ COMMITTED")

    def reader_engine(self, size: int) -> Engine:
        return self._engine(
            QueuePool,
            isolation_level="REPEATABLE READ",
            execution_options={"postgresql_readonly": True},
            pool_size=size,
            max_overflow=0,
        )

    def check(self, conn: Connection) -> None:
        asked = "SELECT current_setting('server_version_num')::int / 10000, pg_is_in_recovery(), "
        row = conn.exec_driver_sql(
            asked + "current_setting('server_encoding'), current_schema()"
        ).one()
        version, standby, encoding, schema = row
        if version < OLDEST:
            self._refuse(f"is PostgreSQL {version}; {OLDEST} or newer is needed")
        if standby:
            self._refuse("is a standby; the primary is needed (target_session_attrs=read-write)")
        if encoding != "UTF8":
            self._refuse(f"has encoding {encoding}; UTF8 is needed")
        if schema is None:
            self._refuse("has no schema to make tables in; look at search_path")

    def _refuse(self, why: str) -> None:
        raise UnusableDatabase(f"{self.where} {why}")

    def enter(self, conn: Connection, *, first: bool = False) -> Entered:
        """Wait for the lock; the transaction's number is its ticket."""
        for _ in range(LOCK_S // _LOOK_S if first else 0):
            waited = conn.begin_nested()
            conn.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOOK_S}s'")
            try:
                conn.exec_driver_sql(_ENTER)
            except OperationalError as error:
                if not isinstance(error.orig, psycopg.errors.LockNotAvailable):
                    raise
                waited.rollback()
                stopped.end(conn, _LOCK, IDLE_S, HUB_NAME)
            else:
                conn.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_S}s'")
                waited.commit()
                break
        return Entered(str(conn.exec_driver_sql(_ENTER).one()[1]))

    def has_committed(self, engine: Engine, ticket: str) -> bool | None:
        """Ask the server for the transaction's status, on a new connection, for a few seconds."""
        for pause in _ASKED:
            time.sleep(pause)
            with contextlib.suppress(SQLAlchemyError), engine.connect() as conn:
                asked = "SELECT pg_xact_status(%s::text::xid8)"
                found = conn.exec_driver_sql(asked, (ticket,)).scalar()
                if found in ("committed", "aborted"):
                    return bool(found == "committed")
        return None

    def hubs(self, conn: Connection) -> list[str]:
        asked = (
            "SELECT DISTINCT application_name FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name LIKE %s "
            "AND pid <> pg_backend_pid()"
        )
        names = conn.exec_driver_sql(asked, (f"{HUB_NAME}%",)).scalars()
        return sorted({name.removeprefix(HUB_NAME).strip() for name in names})

    def staying_hubs(self, conn: Connection) -> list[str]:
        found: list[str] = []
        for pause in _ENDING:
            time.sleep(pause)
            conn.exec_driver_sql("SELECT pg_stat_clear_snapshot()")  # a transaction sees one list
            found = self.hubs(conn)
            if not found:
                break
        return found

    def disconnect(self, conn: Connection) -> None:
        # What they have prepared is refused over a column whose type has changed ("cached plan must not
        # change result type"). New ones wait until the tables are released.
        asked = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND usename = current_user "
            "AND application_name LIKE %s AND pid <> pg_backend_pid()"
        )
        conn.exec_driver_sql(asked, (f"{HUB_NAME}%",))

    def now(self, conn: Connection) -> dt.datetime:
        found: dt.datetime = conn.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
        return found.astimezone(dt.UTC)

    def tell(self, conn: Connection, revision: int) -> None:
        conn.exec_driver_sql(f"SELECT pg_notify('{_CHANNEL}', %s)", (str(revision),))

    def open_feed(self) -> Feed:
        return _Notifications(self._engine(NullPool, isolation_level="AUTOCOMMIT"))

    def _engine(
        self,
        pool: type[NullPool] | type[QueuePool],
        execution_options: JsonView | None = None,
        **options: Any,
    ) -> Engine:
        engine = create_engine(
            self._url,
            poolclass=pool,
            execution_options={**compiled.OF_POSTGRES, **(execution_options or {})},
            hide_parameters=True,  # manifests hold what no log may say
            paramstyle="format",  # by place, as `hub.store.bulk` gives them
            connect_args={
                "connect_timeout": CONNECT_S,
                "application_name": self._name,
                "keepalives_idle": 5,
                "keepalives_interval": 2,
                "keepalives_count": 3,
                "tcp_user_timeout": 10_000,
                "client_encoding": "UTF8",  # else texts of a server of SQL_ASCII come as bytes
            },
            **options,
        )
        event.listen(engine, "connect", functools.partial(_connected, idle_s=self._idle_s))
        return give_keys(engine, self._keys)


def _connected(connection: DBAPIConnection, _entry: ConnectionPoolEntry, *, idle_s: int) -> None:
    assert isinstance(connection, psycopg.Connection)
    connection.adapters.register_dumper(str, _Text)
    before, connection.autocommit = connection.autocommit, True
    session = {**_SESSION, "idle_in_transaction_session_timeout": f"{idle_s}s"}
    places = ", ".join("set_config(%s, %s, false)" for _ in session)
    connection.execute(f"SELECT {places}", [each for pair in session.items() for each in pair])
    # An administrator who has switched it off for the database has not thought of jobs that run once.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
    )
    connection.autocommit = before


class _Notifications:
    """LISTEN, on a separate connection."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.connection = engine.connect()
        held = self.connection.connection.driver_connection
        assert isinstance(held, psycopg.Connection)
        self._driver = held
        self._driver.execute(f"LISTEN {_CHANNEL}")

    def wait(self, seconds: float) -> int:
        newest = 0
        for told in self._driver.notifies(timeout=seconds, stop_after=1):
            newest = max(newest, int(told.payload) if told.payload.isdecimal() else 0)
        return newest

    def end_stopped(self) -> None:
        for each in stopped.end(self.connection, _LOCK, IDLE_S, HUB_NAME):
            _log.warning(
                "a hub has stopped while it wrote: its connection was ended", backend=each
            )

    def interrupt(self) -> None:
        with (
            contextlib.suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self._driver.fileno())) as held,
        ):
            held.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(SQLAlchemyError, psycopg.Error):
            self.connection.close()
        self._engine.dispose()

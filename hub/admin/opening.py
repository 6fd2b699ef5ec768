"""Opens a store for an administrator: beside the hubs on it, or for this process alone."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from hub import folder
from hub.store.backends.backend import Backend
from hub.store.backends.choose import backend_of
from hub.store.backends.sqlite import Sqlite, address_of
from hub.store.errors import StoreError, UnusableDatabase, told

NAME = "roadstead-admin"  # by which a server knows these connections from a hub's


FAILURES = (
    StoreError,
    folder.Misconfigured,
)  # what the verbs of this package end with, in one line


class HubAlive(StoreError):
    """A hub runs on the database, and the command needs it to be stopped."""


def named(url: str) -> Backend:
    """The database of an address. Raises UnusableDatabase."""
    return backend_of(url, NAME)


def address_of_file(path: Path) -> str:
    """The path of SQLite's file in `named`, else `path`."""
    return address_of(path)


def file_of(backend: Backend) -> Path | None:
    """SQLite's file; None where the database is a server's."""
    return Path(backend.where) if isinstance(backend, Sqlite) else None


@contextlib.contextmanager
def reading(backend: Backend) -> Iterator[Connection]:
    """One snapshot of a database that is there. Raises UnusableDatabase."""
    refuse_absent(backend)
    engine = backend.reader_engine(1)
    try:
        with _failing(backend), engine.connect() as conn, conn.begin() as transaction:
            yield conn
            transaction.rollback()
    finally:
        engine.dispose()


@contextlib.contextmanager
def writing(backend: Backend) -> Iterator[Connection]:
    """One transaction with the write lock. Raises UnusableDatabase."""
    backend.prepare()
    engine = backend.writer_engine()
    try:
        with _failing(backend), engine.begin() as conn:
            backend.enter(conn, first=True)
            backend.check(conn)
            yield conn
    finally:
        engine.dispose()


@contextlib.contextmanager
def alone(backend: Backend) -> Iterator[None]:
    """Keep hubs from a file of SQLite's meanwhile. Raises HubAlive; of a server `refuse_hubs` tells."""
    file = file_of(backend)
    if file is None:
        yield
        return
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(folder.locked(file.parent))
        except folder.Misconfigured as error:
            raise HubAlive(f"{error}: stop it first") from error
        yield


@contextlib.contextmanager
def private() -> Iterator[None]:
    """Files created inside are readable by their owner alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def refuse_absent(backend: Backend) -> None:
    """Raises UnusableDatabase where there is no such file: to read one makes none."""
    file = file_of(backend)
    if file is not None and not file.is_file():
        raise UnusableDatabase(f"{file} is not there")


@contextlib.contextmanager
def _failing(backend: Backend) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        failure = told(error)
        raise UnusableDatabase(f"{backend.where}: {failure}") from error
    except OSError as error:
        raise UnusableDatabase(f"{backend.where}: {error.strerror}") from error


def settle_file(part: Path, file: Path) -> None:
    """Give a file its name: all of it is on the disk before, and the name after. Raises OSError."""
    part.chmod(0o600)
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.rename(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

"""Empty databases at the newest revision, which tests copy: creating the tables for each test costs far more.

A copy holds the schema alone. It lacks the rows of a hub's first start (hub id, incarnation, page key, id of
the secrets key), so that no two tests share an identity. Tests of creation and migration
create: they ask `tests.databases.url_of`.
"""

import functools
import os
import tempfile
from pathlib import Path

from hub.store import schema
from hub.store.backends.choose import backend_of
from tests import databases

_TEMPLATE = "prepared"


def url_of(folder: Path | str) -> str:
    """The database of `folder`; a new one is a copy of the prepared database."""
    if databases.chosen() == databases.POSTGRES:
        return databases.server().database_of(folder, _postgres())
    copy_to(Path(folder) / "hub.db")
    return databases.url_of(folder)


def copy_to(file: Path) -> None:
    """A new file with the schema in it, as a hub would create it; one that is there is left alone."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        made = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return
    with os.fdopen(made, "wb") as copy:
        copy.write(_sqlite())


@functools.cache
def _sqlite() -> bytes:
    """The content of the prepared file; created once per process."""
    with tempfile.TemporaryDirectory(prefix="roadstead-prepared-") as folder:
        file = Path(folder) / "hub.db"
        _create(f"sqlite:///{file}")
        return file.read_bytes()


@functools.cache
def _postgres() -> str:
    """The name of the prepared database on the run's own server."""
    _create(databases.server().database(_TEMPLATE))
    return _TEMPLATE


def _create(url: str) -> None:
    backend = backend_of(url)
    backend.prepare()
    engine = backend.writer_engine()
    try:
        with engine.begin() as conn:
            schema.migrate(conn)
    finally:
        engine.dispose()

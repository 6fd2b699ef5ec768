"""A backup: every row as it is at one instant, in one file of SQLite, while hubs run on the database.

Of SQLite it is SQLite's own online copy. Of PostgreSQL it is one snapshot (REPEATABLE READ) that is written
table by table: `pg_dump` would have to be there, no older than the server, and could be restored to
PostgreSQL alone.
"""

import contextlib
import datetime as dt
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from hub.admin import opening
from hub.admin.backup_content import refuse_strange
from hub.store import copying, schema
from hub.store.backends.backend import Backend
from hub.store.errors import UnusableDatabase
from shared.wire import versions


@dataclass(frozen=True, slots=True)
class Backup:
    """The content of a file; `rows` by table. A file of other tools: only its own properties."""

    file: str
    source: str
    taken_at: str
    release: str
    revision: str
    rows: dict[str, int]

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return Path(self.file).stat().st_size


def take(url: str, file: Path, now: dt.datetime) -> Backup:
    """Write a backup of the database at `url` to `file`, which is not there yet. Raises StoreError."""
    backend = opening.named(url)
    opening.refuse_absent(backend)
    if file.exists():
        raise UnusableDatabase(f"{file} exists already, and a backup overwrites nothing")
    part = file.with_name(f".{file.name}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # it holds secrets
    except OSError as error:
        raise UnusableDatabase(f"{part}: {error.strerror}") from error
    try:
        source = opening.file_of(backend)
        _of_server(backend, part) if source is None else _of_file(source, part)
        made = _described(backend, part, file, now)
        opening.settle_file(part, file)
    except OSError as error:
        raise UnusableDatabase(_not_written(file, error.strerror or str(error))) from error
    except sqlite3.Error as error:
        raise UnusableDatabase(_not_written(file, str(error))) from error
    finally:
        copying.remove_file(part)
    return made


def _not_written(file: Path, why: str) -> str:
    """It is the backup's disk that fails, not the database's."""
    return f"the backup {file} can not be written: {why}. The database is unchanged: check {file.parent}"


def _of_file(source: Path, part: Path) -> None:
    copying.copy_file(source, part)


def _of_server(backend: Backend, part: Path) -> None:
    with opening.private(), opening.reading(backend) as conn:
        found = schema.revision(conn)
        if found is None:
            raise schema.SchemaBehind(f"{backend.where} holds no hub: there is nothing to copy")
        if found != schema.HEAD:
            raise schema.SchemaBehind(
                f"{backend.where} is at revision {found}, this release reads {schema.HEAD}: take the "
                "backup with the release that runs on it"
            )
        with _writing(part) as copy:
            copying.copy_rows(conn, copy)
        copying.close_log(part)


@contextlib.contextmanager
def _writing(part: Path) -> Iterator[Connection]:
    """One transaction on a new file. Raises what SQLite raises of it, which is not the server's fault."""
    try:
        engine = copying.make_file(part)
        try:
            with engine.begin() as copy:
                yield copy
        finally:
            engine.dispose()
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise


def _described(backend: Backend, part: Path, file: Path, now: dt.datetime) -> Backup:
    with copying.looking(part) as conn:
        revision = schema.revision(conn)
        if revision is None:
            raise UnusableDatabase(f"{backend.where} holds no tables: there is nothing to back up")
        rows = copying.counts(conn) if revision == schema.HEAD else {}
    made = Backup(
        file=str(file),
        source=backend.where,
        taken_at=now.isoformat(),
        release=versions.release(),
        revision=revision,
        rows=rows,
    )
    about = {"source": made.source, "taken_at": made.taken_at, "release": made.release}
    copying.describe(part, {**about, "rows": json.dumps(rows)})
    return made


def read(file: Path) -> Backup:
    """The hub of a backup file, read through; also of a file by SQLite's own tools. Raises StoreError."""
    if not file.is_file():
        raise UnusableDatabase(f"{file} is not there")
    about = copying.description(file)
    with copying.looking(file) as conn:
        revision = schema.revision(conn)
        if revision is None or not schema.is_known(revision):
            raise schema.UnknownSchema(
                f"{file} is at revision {revision}, which this release does not know"
            )
        refuse_strange(file, conn)
        rows = json.loads(about.get("rows") or "{}")
        if rows and copying.counts(conn) != rows:
            raise UnusableDatabase(f"{file} does not contain the rows that it states")
    return Backup(
        file=str(file),
        source=about.get("source", ""),
        taken_at=about.get("taken_at", ""),
        release=about.get("release", ""),
        revision=revision,
        rows=rows,
    )

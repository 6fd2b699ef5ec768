"""A backup becomes a hub's database again, under a new incarnation and behind the recovery barrier.

Commits after the backup are lost, and members may run jobs of that time. So the restored store
says of itself that it went back: nothing is dispatched until an administrator accepts it, what may have been
started is held, and what members hold besides is shown (docs/explain/exactly-once.md, rules 10 and 12).
"""

import datetime as dt
import itertools
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from hub.admin import backup, opening
from hub.admin.backup import Backup
from hub.services.works import restored
from hub.store import changes, copying, schema, tallies
from hub.store.backends.backend import Backend
from hub.store.errors import StoreError, UnusableDatabase
from hub.store.transaction import Transaction

PRINCIPAL = "roadstead admin restore"
_NEVER = dt.datetime.min.replace(tzinfo=dt.UTC)  # of a transaction that writes nothing


class Occupied(StoreError):
    """The database holds a hub already, and it was not said that it may be replaced."""


@dataclass(frozen=True, slots=True)
class RestoredStore:
    """`held`: jobs that wait for a person; `aside`: where the file is that was there before, or ""."""

    where: str
    backup: Backup
    incarnation: str
    held: int
    aside: str = ""


def restore(
    file: Path, url: str, now: dt.datetime, *, replace: bool = False, force: bool = False
) -> RestoredStore:
    """Make the database at `url` what `file` holds, brought up to this release's schema.

    `replace`: what is there may go (of SQLite, it is kept beside). `force`: although hubs are connected,
    which are known to be dead or are stopped at once. Raises StoreError, and then nothing is changed.
    """
    backend = opening.named(url)
    found = backup.read(file)
    target = opening.file_of(backend)
    if target is None:
        return _to_server(backend, found, now, replace=replace, force=force)
    with opening.alone(backend):
        return _to_file(target, found, now, replace=replace)


def _to_file(target: Path, found: Backup, now: dt.datetime, *, replace: bool) -> RestoredStore:
    there = target.exists() and target.stat().st_size > 0
    if there and not replace:
        raise Occupied(f"{target} exists already: pass --replace, which keeps it beside")
    part = target.with_name(f".{target.name}.restoring")
    part.unlink(missing_ok=True)
    try:
        with opening.private():
            held, incarnation = _prepared(
                part, found, now, _incarnations_of(target) if there else ()
            )
        aside = _put_aside(target, now) if there else ""
        opening.settle_file(part, target)
    except OSError as error:
        raise UnusableDatabase(f"{target}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return RestoredStore(str(target), found, incarnation, held, aside)


def _to_server(
    backend: Backend, found: Backup, now: dt.datetime, *, replace: bool, force: bool
) -> RestoredStore:
    """All that is to be changed is changed in a file first: a server is slower at it by far."""
    earlier = _refuse_server(backend, replace=replace, force=force)
    with tempfile.TemporaryDirectory(prefix="roadstead-restore-") as folder:
        part = Path(folder) / "hub.db"
        held, incarnation = _prepared(part, found, now, earlier)
        with opening.writing(backend) as conn, copying.looking(part) as copy:
            _refuse_hubs(backend, conn, force=force)
            schema.migrate(conn)
            tallies.remove(conn)
            copying.empty(conn)
            copying.copy_rows(copy, conn)
            tallies.ensure(conn)
    return RestoredStore(backend.where, found, incarnation, held)


def _refuse_server(backend: Backend, *, replace: bool, force: bool) -> tuple[str, ...]:
    """The incarnation of what is there. Raises HubAlive, Occupied."""
    with opening.reading(backend) as conn:
        _refuse_hubs(backend, conn, force=force)
        if schema.revision(conn) is None:
            return ()
        earlier = restored.incarnations(Transaction(conn, _NEVER))
    if earlier and not replace:
        raise Occupied(f"{backend.where} holds a hub already: pass --replace to overwrite it")
    return earlier


def _refuse_hubs(backend: Backend, conn: Connection, *, force: bool) -> None:
    if not force and backend.staying_hubs(conn):
        raise opening.HubAlive(
            f"hubs are running on {backend.where}: stop them first, or pass --force if they are dead"
        )


def _prepared(
    part: Path, found: Backup, now: dt.datetime, earlier: tuple[str, ...]
) -> tuple[int, str]:
    shutil.copyfile(found.file, part)
    backend = opening.named(opening.address_of_file(part))
    engine = backend.writer_engine()
    try:
        with engine.begin() as conn:
            schema.migrate(conn)
            copying.undescribe(conn)
            done = _behind_the_barrier(conn, found, now, earlier)
    finally:
        engine.dispose()
    copying.close_log(part)
    return done


def _behind_the_barrier(
    conn: Connection, found: Backup, now: dt.datetime, earlier: tuple[str, ...]
) -> tuple[int, str]:
    tx = Transaction(conn, now)
    held, incarnation = restored.begin_recovery(tx, found.taken_at, PRINCIPAL, earlier)
    changes.seal(tx, changes.last_revision(tx) + 1)
    return held, incarnation


def _incarnations_of(target: Path) -> tuple[str, ...]:
    """The incarnation of the file that is replaced; nothing where it can not be read."""
    try:
        with opening.reading(opening.named(opening.address_of_file(target))) as conn:
            return restored.incarnations(Transaction(conn, _NEVER))
    except StoreError:
        return ()


def _put_aside(target: Path, now: dt.datetime) -> str:
    """Give the file another name, with what belongs to it."""
    plain = target.with_name(f"{target.name}.replaced-{now:%Y%m%dT%H%M%SZ}")
    more = (plain.with_name(f"{plain.name}-{number}") for number in itertools.count(2))
    aside = next(each for each in itertools.chain([plain], more) if not each.exists())
    for end in ("-wal", "-shm", ""):
        file = target.with_name(target.name + end)
        if file.exists():
            file.rename(aside.with_name(aside.name + end))
    return str(aside)

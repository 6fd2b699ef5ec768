"""Is this store, and what hangs on it, well? Looked at from the database alone, hubs running or not."""

import datetime as dt
import shutil
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from hub.admin import migrate, opening
from hub.services.context import hub_cluster, timeline
from hub.services.members import forgotten
from hub.services.reading import unread_kinds
from hub.services.reading.unread_kinds import lacking
from hub.services.scheduling import stalls
from hub.store import clusters, copying, leases, readable, room, survey, tokens
from hub.store.backends.backend import Backend
from hub.store.errors import StoreError
from hub.store.records.members import Member
from hub.store.transaction import Transaction
from shared.clock import SystemClock
from shared.wire.agent_v1 import SUSPECT_AFTER_S

Level = Literal["ok", "warn", "fail"]
CLOCK_WARN_S, CLOCK_FAIL_S = 2.0, 15.0
DISK_WARN, DISK_FAIL = 2 << 30, 256 << 20
SILENT = dt.timedelta(seconds=SUSPECT_AFTER_S)  # the hub calls it Suspect from then on
STALE = dt.timedelta(days=7)
EXPIRES_SOON = dt.timedelta(hours=2)
LARGE = 5_000_000  # rows of one table


@dataclass(frozen=True, slots=True)
class Finding:
    """One check, and its result."""

    name: str
    level: Level
    message: str


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """All of them, and what each table holds."""

    findings: tuple[Finding, ...]
    tables: tuple[survey.TableFigures, ...] = ()


_NOT_WRITTEN = Finding("writes", "ok", "skipped: a backup stays unchanged")


def examine(url: str) -> StoreHealth:
    """Run all checks; a check that fails to run is a finding too."""
    try:
        backend = opening.named(url)
        file = opening.file_of(backend)
        is_backup = file is not None and copying.is_backup(file)
        with copying.looking(file) if file and is_backup else opening.reading(backend) as conn:
            schema = _schema(migrate.look(backend, conn))
            if schema.level == "fail":
                return StoreHealth((schema,))
            if file and (faults := list(readable.unreadable(conn))):
                return StoreHealth((schema, Finding("values", "fail", "; ".join(faults))))
            tx = Transaction(conn, backend.now(conn))
            found = [schema, *_of_server(backend, conn), *_of_store(tx), *_of_members(tx)]
            tables = tuple(survey.tables(conn))
        writes = _NOT_WRITTEN if is_backup else _of_writes(backend)
        return StoreHealth((*found, writes, *_of_tables(tables)), tables)
    except StoreError as error:
        return StoreHealth((Finding("database", "fail", str(error)),))


def _of_writes(backend: Backend) -> Finding:
    """Write a little, commit it, and take it away again: on a full disk everything else may be read."""
    try:
        for step in room.STEPS:
            with opening.writing(backend) as conn:
                step(Transaction(conn, backend.now(conn)))
    except StoreError as error:
        return Finding("writes", "fail", f"no write is possible: {error}")
    return Finding("writes", "ok", "a small write was committed")


def _schema(found: migrate.Schema) -> Finding:
    if found.state == migrate.CURRENT:
        return Finding("schema", "ok", f"at {found.found}, as this release needs it")
    if found.usable:
        return Finding(
            "schema", "ok", f"at {found.found}, of a newer release; this one runs on it"
        )
    if found.state in {migrate.BEHIND, migrate.EMPTY}:
        text = f"at {found.found or 'nothing'}; this release needs {found.needed}: admin migrate"
        return Finding("schema", "fail", text)
    return Finding("schema", "fail", f"{found.state}: at {found.found} {found.differing}".strip())


def _of_server(backend: Backend, conn: Connection) -> Iterator[Finding]:
    off = abs((backend.now(conn) - SystemClock().now()).total_seconds())
    level: Level = "fail" if off > CLOCK_FAIL_S else "warn" if off > CLOCK_WARN_S else "ok"
    yield Finding("clock", level, f"{off:.1f} s between this machine and the database")
    size = survey.size(conn)
    file = opening.file_of(backend)
    if file is None:
        yield Finding(
            "disk", "ok", f"{_bytes(size)} of data; room on the server is not known here"
        )
        hubs = backend.hubs(conn)
        told = ", ".join(each or "of an earlier release" for each in hubs)
        yield Finding("hubs", "ok" if hubs else "warn", told or "no hub is connected")
        return
    free = shutil.disk_usage(file.parent).free
    level = "fail" if free < DISK_FAIL else "warn" if free < max(DISK_WARN, 2 * size) else "ok"
    yield Finding("disk", level, f"{_bytes(size)} of data, {_bytes(free)} free")
    try:
        backend.check(conn)
        yield Finding("file", "ok", "read through, where it is small enough")
    except StoreError as error:
        yield Finding("file", "fail", str(error))


def _of_store(tx: Transaction) -> Iterator[Finding]:
    if leases.is_free(tx):
        yield Finding("leader", "warn", "no leader: no hub runs, or none has taken over yet")
    else:
        yield Finding("leader", "ok", f"term {leases.present_term(tx)}")
    if why := timeline.stopped(tx):
        yield Finding("restored", "fail", why)
    if failing := stalls.show(tx):
        text = (
            f"every turn fails since {failing['since']}, so no job is placed: {failing['fault']}"
        )
        yield Finding("scheduling", "fail", f"{text} (the hub's log has the lines of code)")
    yield _of_hub_cluster(tx)
    left = forgotten.counts(tx)
    if left:
        where = ", ".join(f"{name} {count}" for name, count in sorted(left.items()))
        yield Finding(
            "leftovers", "warn", f"Jobs from before a restore: {where} (admin adopt, forget)"
        )
    wrong = survey.miscounted(tx.conn)
    yield Finding(
        "counts",
        "fail" if wrong else "ok",
        "; ".join(wrong) or "numbers of jobs are those of the rows",
    )


def _of_hub_cluster(tx: Transaction) -> Finding:
    """The bridge's last report; a hub without a hub cluster has none."""
    told = hub_cluster.show(tx)
    if told["running"] or not told["reason"]:
        text = "none" if not told["uid"] else "kubectl's objects there are accepted"
        return Finding("hub cluster", "ok", text)
    level: Level = "warn" if told["reason"] == hub_cluster.STARTING else "fail"
    text = f"{told['reason']}: {told['message']}; kubectl's objects there are not accepted"
    return Finding("hub cluster", level, text)


def _of_members(tx: Transaction) -> Iterator[Finding]:
    members = clusters.list_all(tx)
    down = clusters.down(tx)
    bad = [f"{each.name} {why}" for each in members if (why := _trouble(tx, each, down))]
    yield Finding(
        "members",
        "warn" if bad else "ok",
        "; ".join(bad) or f"{len(members)} are in order",
    )
    unread = [f"{name}: {lacking(kinds)}" for name, kinds in unread_kinds.by_member(tx).items()]
    if unread:
        yield Finding("kinds", "warn", "; ".join(unread))
    versions: dict[str, list[str]] = {}
    for each in members:
        if each.joined_at is not None:
            told = str((each.agent or {}).get("version") or "of an earlier release")
            versions.setdefault(told, []).append(each.name)
    if versions:
        told = "; ".join(f"{version}: {len(names)}" for version, names in sorted(versions.items()))
        yield Finding("agents", "warn" if len(versions) > 1 else "ok", told)


def _trouble(tx: Transaction, member: Member, down: Container[str]) -> str:
    """The fault of a member; "" for none."""
    if member.joined_at is None:
        old = tx.now - member.created_at > STALE
        return (
            f"was declared {_days(tx.now - member.created_at)} ago and never joined" if old else ""
        )
    heard = member.heartbeat_at or member.joined_at
    if tx.now - heard > STALE:
        return f"has been silent for {_days(tx.now - heard)}: fence it if it is destroyed"
    if tx.now - heard > SILENT:
        return f"has been silent for {round((tx.now - heard).total_seconds())} s"
    if member.name in down:
        return "is Unhealthy: its API server does not answer or refuses its agent"
    until = tokens.good_until(tx, member.name)
    if until is not None and until - tx.now < EXPIRES_SOON:
        return "has a credential that expires soon, and its agent has not replaced it"
    return ""


def _of_tables(tables: tuple[survey.TableFigures, ...]) -> Iterator[Finding]:
    large = [f"{each.name} {each.rows}" for each in tables if each.rows > LARGE]
    total = sum(each.rows for each in tables)
    words = f"{total} rows" + (f"; large: {', '.join(large)}" if large else "")
    yield Finding("tables", "warn" if large else "ok", words)


def _days(span: dt.timedelta) -> str:
    return f"{span.days} days"


def _bytes(number: int) -> str:
    return f"{number / (1 << 20):.1f} MiB" if number < 1 << 30 else f"{number / (1 << 30):.1f} GiB"

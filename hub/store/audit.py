"""The audit: one row per administrative verb, in the verb's own transaction."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import delete, select

from hub.store import scoping
from hub.store.bulk import Bulk
from hub.store.records.history import AuditEntry
from hub.store.tables import audit
from hub.store.transaction import Identified, Transaction
from shared.documents import Json

About = tuple[str, str, str]  # kind, namespace and name; "" if absent
_ADD: Final = Bulk.insert(audit, without=frozenset({"id"}))


def note(tx: Transaction, principal: str, verb: str, row: Identified, outcome: str = "ok") -> None:
    """Record an action of a user on a workload."""
    add(tx, principal, verb, f"{row.kind} {row.namespace}/{row.name} {row.uid}", outcome)


def add(
    tx: Transaction,
    principal: str,
    verb: str,
    of: str,
    outcome: str = "ok",
    about: About | None = None,
) -> None:
    """Append one row; `of`: what it was done to, as `Kind namespace/name …`, else `about` says that."""
    tx.conn.execute(audit.insert(), _row(tx, principal, verb, of, outcome, about))


def add_many(tx: Transaction, rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Append rows of (principal, verb, of, outcome) at once."""
    _ADD.run(tx.conn, [_row(tx, *row, None) for row in rows])


def _row(
    tx: Transaction, principal: str, verb: str, of: str, outcome: str, about: About | None
) -> Json:
    kind, namespace, name = about or about_of(of)
    told = f"{outcome} {came_by(tx.via)}" if tx.via else outcome
    return {
        "at": tx.now,
        "principal": principal,
        "verb": verb,
        "object": of[:600],
        "outcome": told[:64],
        "kind": kind[:63],
        "namespace": namespace[:63],
        "name": name[:253],
    }


def came_by(via: str) -> str:
    """The end of an outcome for users who did not come by the API: `(web)`."""
    return f"({via})" if via else ""


def about_of(of: str) -> About:
    """Kind, namespace and name, of `Kind namespace/name …` or `Kind/namespace/name`."""
    kind, _, rest = of.partition(" ")
    if not rest:
        kind, _, rest = of.partition("/")
    place = rest.split(" ")[0]
    namespace, slash, name = place.partition("/")
    return (kind, namespace, name) if slash else (kind, "", place)


def list_entries(
    tx: Transaction,
    filters: Mapping[str, str] | None = None,
    since: dt.datetime | None = None,
    *,
    before: int = 0,
    limit: int = 100,
) -> list[AuditEntry]:
    """The newest entries (older than id `before`) that the caller may see, newest first.

    `filters`: principal, verb, kind, namespace, exact. Rows of releases that did not write down the last
    two apart are found by their words.
    """
    query = select(audit).where(*scoping.of_audit(tx)).order_by(audit.c.id.desc()).limit(limit)
    asked, c = filters or {}, audit.c
    for name in ("principal", "verb"):
        if asked.get(name):
            query = query.where(c[name] == asked[name])
    if kind := asked.get("kind"):
        early = (c.kind == "") & c.object.startswith(kind + " ", autoescape=True)
        query = query.where((c.kind == kind) | early)
    if namespace := asked.get("namespace"):
        early = (c.kind == "") & c.object.contains(f" {namespace}/", autoescape=True)
        query = query.where((c.namespace == namespace) | early)
    if since is not None:
        query = query.where(c.at >= since)
    if before:
        query = query.where(c.id < before)
    return [AuditEntry._make(row) for row in tx.conn.execute(query)]


def trim(tx: Transaction, before: dt.datetime, limit: int) -> int:
    """Delete at most `limit` rows older than `before`; how many."""
    old = select(audit.c.id).where(audit.c.at < before).order_by(audit.c.at).limit(limit)
    return tx.conn.execute(delete(audit).where(audit.c.id.in_(old.scalar_subquery()))).rowcount

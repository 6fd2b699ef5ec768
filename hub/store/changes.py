"""The durable change feed: one row per transaction and kind, revisions without holes.

The writer takes its revision last in the transaction, alone: commit order is revision order.
"""

import datetime as dt
import functools
import math
from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import bindparam, delete, func, select

from hub.store import events
from hub.store.bulk import Bulk
from hub.store.errors import FeedTrimmed, LeftBehind
from hub.store.feed import Change
from hub.store.lookup import Prepared
from hub.store.tables import changes
from hub.store.transaction import Transaction

_ADD: Final = Bulk.insert(changes)
_NEWEST: Final = Prepared(select(func.max(changes.c.revision)))
_AFTER: Final = changes.c.revision > bindparam("revision")
_KEPT: Final = Prepared(select(func.count(changes.c.revision.distinct())).where(_AFTER))


def last_revision(tx: Transaction) -> int:
    """The newest revision this transaction sees; 0 before the first."""
    return int(_NEWEST.scalar(tx.conn) or 0)


def oldest_revision(tx: Transaction) -> int:
    """The oldest revision still kept; 0 if none."""
    return int(tx.conn.execute(select(func.min(changes.c.revision))).scalar() or 0)


def add(tx: Transaction, revision: int, keys: Mapping[str, frozenset[str]]) -> None:
    """Write what the transaction touched, one row per kind."""
    _ADD.run(
        tx.conn,
        [
            {"revision": revision, "kind": kind, "keys": sorted(found), "at": tx.now}
            for kind, found in sorted(keys.items())
        ],
    )


def since(
    tx: Transaction, revision: int, limit: int, most_keys: float = math.inf
) -> list[tuple[int, str, list[str], dt.datetime]]:
    """Rows after `revision`, in order, at most `limit`: (revision, kind, keys, at).

    No further revision is begun once there are `most_keys` keys.
    """
    query = (
        select(changes).where(changes.c.revision > revision).order_by(*changes.primary_key)
    ).limit(limit)
    rows: Any = tx.conn.execute(query)
    found: list[tuple[int, str, list[str], dt.datetime]] = []
    held = 0
    for row in rows:
        if found and row.revision != found[-1][0] and held >= most_keys:
            break
        found.append((row.revision, row.kind, row.keys, row.at))
        held += len(row.keys)
    return found


def merged(tx: Transaction, revision: int) -> list[Change]:
    """The commits after `revision`, in order, one `Change` each. Raises LeftBehind."""
    query = select(changes).where(changes.c.revision > revision).order_by(*changes.primary_key)
    found: dict[int, dict[str, frozenset[str]]] = {}
    for row in tx.conn.execute(query):
        found.setdefault(row.revision, {})[row.kind] = frozenset(row.keys)
    for needed, each in enumerate(found, revision + 1):
        if each != needed:
            raise LeftBehind(f"revision {each} follows {needed - 1}")
    return [Change(each, keys) for each, keys in found.items()]


def touched_since(tx: Transaction, revision: int, kinds: Collection[str]) -> dict[str, set[str]]:
    """Keys of `kinds` that commits after `revision` touched, or others earlier in this group commit.

    A record of these kinds that is not named here is as it was at `revision`. Raises FeedTrimmed where some
    of these commits are no longer kept: after a jump of the clock, retention takes newer rows than it should,
    and leaves a hole where the clock was behind. Revisions are dense, so their number shows it.
    """
    needed = max(last_revision(tx) - revision, 0)
    kept = _KEPT.scalar(tx.conn, revision=revision) if needed else 0
    if kept != needed:
        raise FeedTrimmed(
            f"{kept} of {needed} revisions after {revision} are kept, and all are needed"
        )
    found: dict[str, set[str]] = {kind: set(tx.earlier.get(kind, ())) for kind in kinds}
    if needed:
        for kind, keys in _of_kinds(frozenset(kinds)).rows(tx.conn, revision=revision):
            found[kind].update(keys)
    return {kind: keys for kind, keys in found.items() if keys}


@functools.lru_cache(maxsize=16)
def _of_kinds(kinds: frozenset[str]) -> Prepared:
    """The keys of some kinds that were touched after a revision."""
    touched = select(changes.c.kind, changes.c["keys"])
    return Prepared(touched.where(_AFTER, changes.c.kind.in_(sorted(kinds))))


def seal(tx: Transaction, revision: int) -> Change | None:
    """End a transaction: its events, then, last, what it touched, under `revision`; None if nothing."""
    if tx.events:
        tx.touch("events", str(events.add(tx, tx.events)))
    if not tx.touched:
        return None
    change = Change(revision, {kind: frozenset(keys) for kind, keys in tx.touched.items()})
    add(tx, change.revision, change.keys)
    return change


def trim(tx: Transaction, before: dt.datetime, limit: int) -> int:
    """Delete at most `limit` rows older than `before`, never the newest revision; how many."""
    newest = select(func.max(changes.c.revision)).scalar_subquery()
    old = (
        select(changes.c.revision).where(changes.c.at < before).order_by(changes.c.at).limit(limit)
    )
    done = tx.conn.execute(
        delete(changes).where(
            changes.c.revision.in_(old.scalar_subquery()), changes.c.revision < newest
        )
    )
    return done.rowcount

"""Visibility as a condition of a query: so that pages of a list are full, and no row is checked separately.

`hub.domain.access.Area.holds` says the same of one row.
"""

from collections.abc import Collection, Iterable
from typing import Final

from sqlalchemy import ColumnElement, Table, false, or_, select, true

from hub.domain.access import Area
from hub.store.dialect import CHUNK
from hub.store.tables import audit, events, objects, tallies, workloads, works
from hub.store.transaction import Transaction


def of_jobs(
    tx: Transaction, columns: tuple[ColumnElement[str], ...] | None = None
) -> list[ColumnElement[bool]]:
    """Conditions on `workloads`: none where everything may be seen. `columns`: namespace, queue, owner."""
    c = workloads.c
    return _within(tx, *(columns or (c.namespace, c.queue, c.owner)))


def of_tallies(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `tallies`, whose numbers know no owners."""
    return _within(tx, tallies.c.namespace, tallies.c.queue)


def of_events(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `events`."""
    return _within(tx, events.c.namespace)


def of_objects(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `objects`; of what has no namespace nothing is seen."""
    return _within(tx, objects.c.namespace)


def of_audit(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `audit`; of what has no namespace nothing is seen."""
    return _within(tx, audit.c.namespace)


def of_works(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `works`."""
    return _within(tx, works.c.namespace)


# What keys of the change feed name, by kind: uids of rows of a table, or `<cluster>/<uid>`.
_OBJECTS: Final = frozenset({"objects", "bindings"})
_WORKS: Final = frozenset({"works", "observed"})


def seen_keys(tx: Transaction, kind: str, keys: Collection[str]) -> set[str]:
    """Those keys of the change feed whose rows may be seen; of other kinds none are."""
    if kind == "workloads":
        return _seen_uids(tx, workloads, of_jobs(tx), keys)
    if kind in _OBJECTS:
        return _seen_uids(tx, objects, of_objects(tx), keys)
    if kind in _WORKS:
        by_uid: dict[str, list[str]] = {}
        for key in keys:
            by_uid.setdefault(key.partition("/")[2], []).append(key)
        return {key for uid in _seen_uids(tx, works, of_works(tx), by_uid) for key in by_uid[uid]}
    return set()


def _seen_uids(
    tx: Transaction,
    table: Table,
    conditions: Iterable[ColumnElement[bool]],
    uids: Collection[str],
) -> set[str]:
    held, every = tuple(conditions), [*uids]
    found: set[str] = set()
    for start in range(0, len(every), CHUNK):
        asked = table.c.uid.in_(every[start : start + CHUNK])
        found.update(tx.conn.execute(select(table.c.uid).where(asked, *held)).scalars())
    return found


def _within(
    tx: Transaction,
    namespace: ColumnElement[str],
    queue: ColumnElement[str] | None = None,
    owner: ColumnElement[str] | None = None,
) -> list[ColumnElement[bool]]:
    if tx.scope.is_everything:
        return []
    return [_any(tx.scope.sees, namespace, queue, owner)]


def _any(
    areas: Iterable[Area],
    namespace: ColumnElement[str],
    queue: ColumnElement[str] | None,
    owner: ColumnElement[str] | None,
) -> ColumnElement[bool]:
    return or_(false(), *(_one(area, namespace, queue, owner) for area in areas))


def _one(
    area: Area,
    namespace: ColumnElement[str],
    queue: ColumnElement[str] | None,
    owner: ColumnElement[str] | None,
) -> ColumnElement[bool]:
    held: ColumnElement[bool] = true()
    if area.namespaces is not None:
        held &= namespace.in_(sorted(area.namespaces))
    if area.queues is not None:
        held &= false() if queue is None else queue.in_(sorted(area.queues))
    if area.owner:
        held &= false() if owner is None else owner == area.owner
    return held

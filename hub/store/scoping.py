"""What somebody may see, as a condition of a query: so that pages of a list are whole, and no row is asked.

`hub.domain.access.Area.holds` says the same of one row.
"""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, false, or_, true

from hub.domain.access import Area
from hub.store.tables import events, objects, workloads, works
from hub.store.transaction import Transaction


def of_jobs(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `workloads`: none where everything may be seen."""
    c = workloads.c
    return _within(tx, c.namespace, c.queue, c.owner)


def of_events(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `events`."""
    return _within(tx, events.c.namespace)


def of_objects(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `objects`; of what has no namespace nothing is seen."""
    return _within(tx, objects.c.namespace)


def of_works(tx: Transaction) -> list[ColumnElement[bool]]:
    """Conditions on `works`."""
    return _within(tx, works.c.namespace)


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

"""Workloads kept as objects, for their LocalQueue is not there: shown among those that wait in queues."""

from collections.abc import Mapping, Sequence
from typing import Final

from hub.services.context.paging import PAGE_BYTES, within
from hub.services.context.rendering import whole_object
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from hub.store.workloads import BARE as KIND
from shared.documents import Json
from shared.kinds.kueue_v1beta2 import GROUP

MARK: Final = "held"  # a position among them is [MARK, namespace, name]
START: Final = (MARK, "", "")
_TELL_NOTHING: Final = frozenset({"clusterQueue", "state"})  # of these they have none


def find(tx: Transaction, namespace: str, name: str) -> Json | None:
    """One of them."""
    row = objects.find(tx, GROUP, KIND, namespace, name)
    if row is None or not _is_held(row) or not _is_seen(tx, row):
        return None
    return _shown(row)


def page(
    tx: Transaction, filters: Mapping[str, str], position: Sequence[str], limit: int
) -> tuple[list[Json], list[str] | None]:
    """By namespace and name, those after a position, at most `limit` and `PAGE_BYTES`; and where to go on."""
    if any(filters.get(name) for name in _TELL_NOTHING):
        return [], None
    namespace, queue = filters.get("namespace", ""), filters.get("queue")
    after = (position[1], position[2])
    found: list[Json] = []
    size, more = 0, True
    while more and size < PAGE_BYTES:
        sizes = objects.sizes_of_kind(tx, GROUP, KIND, namespace, after, limit + 1)
        taken, read = within(sizes[:limit], PAGE_BYTES - size)
        more, size = taken < len(sizes), size + read
        if not taken:
            break
        for row in objects.list_kind(
            tx, GROUP, KIND, namespace=namespace, after=after, limit=taken
        ):
            if len(found) == limit:
                return found, [MARK, *after]
            after = (row.namespace, row.name)
            asked = not queue or (row.spec or {}).get("queueName") == queue
            if asked and _is_held(row) and _is_seen(tx, row):
                found.append(_shown(row))
    return found, [MARK, *after] if more else None


def _is_seen(tx: Transaction, row: StoredObject) -> bool:
    return tx.scope.shows(row.namespace, str((row.spec or {}).get("queueName") or ""))


def _is_held(row: StoredObject) -> bool:
    """Not what belongs to a Job: that Job has a Workload of the hub's own."""
    owned = (row.manifest.get("metadata") or {}).get("ownerReferences")
    return row.deleted_at is None and not owned


def _shown(row: StoredObject) -> Json:
    told = whole_object(row)
    status = dict(told.get("status") or {})
    return told | {"status": {"conditions": [], **status}}

"""Objects of any kind but Jobs: look at one, list them, count the kinds."""

from typing import Final

import orjson

from hub.services.context import rendering, secrecy
from hub.services.context.paging import Pager
from hub.services.queues import usage
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_PAGE_BYTES: Final = 2 << 20  # of manifests, after which a page ends
_STEP: Final = 20  # objects read at once


def get_object(tx: Transaction, group: str, kind: str, namespace: str, name: str) -> Json:
    """One object, Secrets redacted. Raises Rejected: NotFound."""
    (row,) = usage.with_statuses(tx, [find(tx, group, kind, namespace, name)])
    return secrecy.redacted(tx, rendering.whole_object(row))


def list_objects(
    tx: Transaction,
    group: str,
    kind: str,
    namespace: str,
    pager: Pager,
    token: str | None,
    limit: int,
) -> Json:
    """A page of one kind by namespace and name: {"items", "continue"}; shorter where objects are large."""
    position = pager.position(token)
    after = None if position is None else (position[0], position[1])
    rows: list[StoredObject] = []
    size, more = 0, True
    while more and len(rows) < limit and size < _PAGE_BYTES:
        wanted = min(_STEP, limit - len(rows))
        found = objects.list_kind(
            tx, group, kind, namespace=namespace, after=after, limit=wanted + 1
        )
        more = len(found) > wanted
        for row in found[:wanted]:
            if size >= _PAGE_BYTES:
                more = True
                break
            rows.append(row)
            size += len(orjson.dumps(row.manifest))
            after = (row.namespace, row.name)
    return {
        "items": [
            secrecy.redacted(tx, rendering.whole_object(row))
            for row in usage.with_statuses(tx, rows)
        ],
        "continue": pager.token(list(after)) if more and after is not None else "",
    }


def list_kinds(tx: Transaction) -> Json:
    """Kinds that the hub holds, with how many of each."""
    return {
        "items": [
            {"group": group, "kind": kind, "count": count}
            for group, kind, count in objects.kinds(tx)
        ]
    }


def find(tx: Transaction, group: str, kind: str, namespace: str, name: str) -> StoredObject:
    """The row. Raises Rejected: NotFound."""
    row = objects.find(tx, group, kind, namespace, name)
    if row is None:
        where = f"{namespace[:64]}/{name[:64]}" if namespace else name[:64]
        raise Rejected(RejectCode.NOT_FOUND, f"there is no {kind[:64]} {where}")
    return row

"""Objects of any kind but Jobs: look at one, list them, count the kinds."""

from dataclasses import dataclass, field
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
    (row,) = usage.with_statuses(tx, [find_shown(tx, group, kind, namespace, name)])
    return secrecy.redacted(tx, rendering.whole_object(row))


@dataclass(slots=True)
class Page:
    """Objects of a page so far; it is full at `limit` of them, or at two megabytes."""

    limit: int
    rows: list[StoredObject] = field(default_factory=list)
    size: int = 0
    more: bool = False  # of the kind that was read last

    @property
    def full(self) -> bool:
        """It takes no more."""
        return len(self.rows) >= self.limit or self.size >= _PAGE_BYTES

    def read(
        self,
        tx: Transaction,
        group: str,
        kind: str,
        namespace: str = "",
        after: tuple[str, str] | None = None,
    ) -> None:
        """Take objects of one kind, after a position (namespace, name); a full page only tells of `more`."""
        wanted = 1
        self.more = True
        while self.more and wanted:
            wanted = 0 if self.full else min(_STEP, self.limit - len(self.rows))
            found = objects.list_kind(
                tx, group, kind, namespace=namespace, after=after, limit=wanted + 1, shown=True
            )
            self.more = len(found) > wanted
            for row in found[:wanted]:
                if self.full:
                    self.more = True
                    return
                self.rows.append(row)
                self.size += len(orjson.dumps([row.manifest, row.status]))
                after = (row.namespace, row.name)


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
    page = Page(limit)
    page.read(tx, group, kind, namespace, (position[0], position[1]) if position else None)
    last = page.rows[-1] if page.more and page.rows else None
    return {
        "items": [
            secrecy.redacted(tx, rendering.whole_object(row))
            for row in usage.with_statuses(tx, page.rows)
        ],
        "continue": pager.token([last.namespace, last.name]) if last else "",
    }


def list_kinds(tx: Transaction) -> Json:
    """Kinds that the hub holds, with how many of each."""
    return {
        "items": [
            {"group": group, "kind": kind, "count": count}
            for group, kind, count in objects.kinds(tx)
        ]
    }


def find_shown(tx: Transaction, group: str, kind: str, namespace: str, name: str) -> StoredObject:
    """The row, if whoever asks may see it. Raises Rejected: NotFound, the same as where there is none."""
    if not tx.scope.shows(namespace):
        raise _absent(kind, namespace, name)
    return find(tx, group, kind, namespace, name)


def _absent(kind: str, namespace: str, name: str) -> Rejected:
    where = f"{namespace[:64]}/{name[:64]}" if namespace else name[:64]
    return Rejected(RejectCode.NOT_FOUND, f"there is no {kind[:64]} {where}")


def find(tx: Transaction, group: str, kind: str, namespace: str, name: str) -> StoredObject:
    """The row. Raises Rejected: NotFound."""
    row = objects.find(tx, group, kind, namespace, name)
    if row is None:
        raise _absent(kind, namespace, name)
    return row

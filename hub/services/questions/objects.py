"""Objects of any kind but Jobs: look at one, list them, count the kinds."""

from dataclasses import dataclass, field

from hub.services.context import rendering, secrecy
from hub.services.context.paging import PAGE_BYTES, Pager, within
from hub.services.queues import usage
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode


def get_object(tx: Transaction, group: str, kind: str, namespace: str, name: str) -> Json:
    """One object, Secrets redacted. Raises Rejected: NotFound."""
    (row,) = usage.with_statuses(tx, [find_shown(tx, group, kind, namespace, name)])
    return secrecy.redacted(tx, rendering.whole_object(row))


@dataclass(slots=True)
class Page:
    """Objects of a page so far; at most `limit` of them, and `PAGE_BYTES`.

    Rows are measured before they are read: memory holds one page and the object that exceeds it.
    """

    limit: int
    rows: list[StoredObject] = field(default_factory=list)
    size: int = 0
    more: bool = False  # of the kind that was read last

    def read(
        self,
        tx: Transaction,
        group: str,
        kind: str,
        namespace: str = "",
        after: tuple[str, str] | None = None,
    ) -> None:
        """Take objects of one kind, after a position (namespace, name); a full page only tells of `more`."""
        room = self.limit - len(self.rows)
        sizes = objects.sizes_of_kind(tx, group, kind, namespace, after, room + 1, shown=True)
        taken, size = within(sizes[:room], PAGE_BYTES - self.size)
        self.size += size
        self.more = taken < len(sizes)
        if taken:
            self.rows += objects.list_kind(
                tx, group, kind, namespace=namespace, after=after, limit=taken, shown=True
            )


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
    """Kinds that the hub holds, with their counts."""
    return {
        "items": [
            {"group": group, "kind": kind, "count": count}
            for group, kind, count in objects.kinds(tx)
        ]
    }


def find_shown(tx: Transaction, group: str, kind: str, namespace: str, name: str) -> StoredObject:
    """The row, if the caller may see it. Raises Rejected: 404 if not visible, the same as if absent."""
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

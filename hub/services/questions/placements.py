"""Placements as people look at them: what they selected, where it is, how far it has come."""

from hub.domain.instants import stamp
from hub.services.context.paging import Pager
from hub.services.questions.objects import Page
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.placement_v1 import GROUP as PLACEMENT, PLACEMENT_KINDS, placement_kind
from shared.reject_codes import RejectCode


def list_placements(tx: Transaction, pager: Pager, token: str | None, limit: int) -> Json:
    """A page of them by kind, namespace and name: {"items", "continue"}; shorter where statuses are large."""
    kind, *after = pager.position(token) or [PLACEMENT_KINDS[0]]
    page = Page(limit)
    for each in PLACEMENT_KINDS[PLACEMENT_KINDS.index(kind) :]:
        page.read(tx, PLACEMENT, each, after=(after[0], after[1]) if after else None)
        if page.more:
            break
        after = []
    last = page.rows[-1] if page.more and page.rows else None
    return {
        "items": [_placement(row) for row in page.rows],
        "continue": pager.token([last.kind, last.namespace, last.name]) if last else "",
    }


def get_placement(tx: Transaction, namespace: str, name: str) -> Json:
    """A ClusterResourcePlacement, or a ResourcePlacement of a namespace. Raises Rejected: NotFound."""
    row = objects.find(tx, PLACEMENT, placement_kind(namespace), namespace, name)
    if row is None or not tx.scope.shows(namespace):
        where = f"{namespace[:64]}/{name[:64]}" if namespace else name[:64]
        raise Rejected(RejectCode.NOT_FOUND, f"there is no placement {where}")
    return _placement(row)


def _placement(row: StoredObject) -> Json:
    spec, status = row.spec or {}, row.status or {}
    return {
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "uid": row.uid,
        "origin": row.origin,
        "generation": row.generation,
        "policy": spec.get("policy") or {"placementType": "PickAll"},
        "resourceSelectors": spec.get("resourceSelectors") or [],
        "conditions": status.get("conditions") or [],
        "selectedResources": status.get("selectedResources") or [],
        "placementStatuses": status.get("perClusterPlacementStatuses")
        or status.get("placementStatuses")
        or [],
        "createdAt": stamp(row.created_at),
        "deletedAt": stamp(row.deleted_at),
    }

"""Placements' decisions for clusters, and clusters' desired objects: bindings and works, page by page."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from hub.domain.instants import stamp
from hub.services.context.paging import PAGE_BYTES, Pager, within
from hub.services.placements.bindings import FOR_A_JOB, LEAVING
from hub.services.placements.history.revisions import find_placement, read_name
from hub.store import objects, placements, scoping, work_pages
from hub.store.records.objects import StoredObject
from hub.store.records.placements import BoundBinding
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.documents import Json

SCHEDULED: Final = "Scheduled"
BOUND: Final = "Bound"
UNSCHEDULED: Final = "Unscheduled"
_REFUSED: Final = frozenset({"Failed", "Missing"})


class Of(NamedTuple):
    """Of which placement (`name` or `namespace/name`) and of which cluster; "": of any."""

    placement: str = ""
    cluster: str = ""


def list_bindings(tx: Transaction, of: Of, pager: Pager, token: str | None, limit: int) -> Json:
    """Decisions of placements for clusters: {"items", "continue"}. Raises Rejected: NotFound."""
    uid = _uid(tx, of.placement)
    position = pager.position(token)
    after = None if position is None else (position[0], position[1])
    found = placements.list_bound(tx, uid, of.cluster, after, limit + 1)
    more, found = len(found) > limit, found[:limit]
    named = _named(tx, {each.binding.placement for each in found})
    last = found[-1].binding if found else None
    return {
        "items": [_binding(each, named) for each in found],
        "continue": pager.token([last.placement, last.cluster]) if more and last else "",
    }


def state_of(bound: BoundBinding) -> str:
    """KubeFleet's state of a binding: Scheduled before anything was given, then Bound, then Unscheduled."""
    binding = bound.binding
    if not binding.selected:
        return UNSCHEDULED
    return BOUND if binding.resource_snapshot else SCHEDULED


def _binding(bound: BoundBinding, named: Mapping[str, StoredObject]) -> Json:
    each = bound.binding
    kind, namespace, name = _called(named.get(each.placement))
    return {
        "placementKind": kind,
        "placementNamespace": namespace,
        "placement": name,
        "cluster": each.cluster,
        "state": state_of(bound),
        "ofJob": each.policy_snapshot == FOR_A_JOB,
        "leaving": each.policy_snapshot == LEAVING,
        "resourceSnapshotIndex": each.resource_snapshot,
        "affinityScore": each.affinity_score,
        "topologySpreadScore": each.topology_score,
        "reason": each.reason,
        "message": each.message,
        "boundAt": stamp(bound.at),
        "settledAt": stamp(each.settled_at),
    }


def list_works(
    tx: Transaction, of: Of, pager: Pager, token: str | None, limit: int, *, failed: bool = False
) -> Json:
    """The works of clusters, and their agents' reports: {"items", "continue"}.

    `failed`: what could not be applied, or is and is not available. Raises Rejected: NotFound.
    """
    uid = _uid(tx, of.placement)
    position = pager.position(token)
    after = None if position is None else (position[0], position[1])
    sizes = work_pages.page_sizes(tx, uid, of.cluster, after, limit + 1, failed=failed)
    taken, _ = within(sizes[:limit], PAGE_BYTES)
    more = taken < len(sizes)
    found = work_pages.list_page(tx, uid, of.cluster, after, taken, failed=failed)
    named = _named(tx, _placed_by(found))
    return {
        "items": [_work(each, named) for each in found],
        "continue": pager.token([found[-1].cluster, found[-1].uid]) if more else "",
    }


def _named(tx: Transaction, uids: Collection[str]) -> Mapping[str, StoredObject]:
    """Placements by uid that the caller may see: of the others not even the name is shown."""
    if not tx.scope.is_everything:
        uids = scoping.seen_keys(tx, "objects", uids)
    return objects.get_many(tx, uids)


def _placed_by(found: Iterable[Work]) -> set[str]:
    return {each.placed_by for each in found if each.placed_by}


def _work(each: Work, named: Mapping[str, StoredObject]) -> Json:
    kind, namespace, name = _called(named.get(each.placed_by))
    return {
        "cluster": each.cluster,
        "uid": each.uid,
        "apiVersion": each.api_version,
        "kind": each.kind,
        "namespace": each.namespace,
        "name": each.name,
        "placementKind": kind,
        "placementNamespace": namespace,
        "placement": name,
        "epoch": each.epoch,
        "generation": each.generation,
        "observedGeneration": each.observed_generation,
        "action": each.action,
        "phase": each.phase,
        "available": each.available,
        "failed": each.phase in _REFUSED or each.available is False,
        "drifted": len(each.drift or ()),
        "reason": each.reason,
        "message": each.message,
        "createdAt": stamp(each.created_at),
        "observedAt": stamp(each.observed_at),
    }


def _called(row: StoredObject | None) -> tuple[str, str, str]:
    """Kind, namespace and name of a placement; empty for none."""
    return ("", "", "") if row is None else (row.kind, row.namespace, row.name)


def _uid(tx: Transaction, placement: str) -> str:
    return find_placement(tx, *read_name(placement)).uid if placement else ""

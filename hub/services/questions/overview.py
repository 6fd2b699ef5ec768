"""The fleet at a glance: counts, placements, drift, the change feed, the audit."""

from collections.abc import Sequence

from hub.domain.instants import stamp
from hub.services.context import timeline
from hub.services.context.paging import Pager
from hub.services.context.settings import Settings
from hub.services.members import forgotten
from hub.services.members.liveness import joined_clusters
from hub.services.questions import clusters
from hub.store import audit, changes, objects, tallies, works
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from shared.reject_codes import RejectCode

_PLACEMENTS = ("ClusterResourcePlacement", "ResourcePlacement")
MOST_KEYS = 200  # of a page of the feed, but for its last revision


def overview(tx: Transaction, settings: Settings) -> Json:
    """Counts of jobs by state, clusters by state, queues, and the newest revision."""
    members: list[Json] = clusters.list_clusters(tx, settings)["items"]
    by_state: dict[str, int] = {}
    for member in members:
        by_state[member["state"]] = by_state.get(member["state"], 0) + 1
    return {
        "jobs": tallies.by_state(tx),
        "clusters": {"total": len(members), **by_state},
        "room": [{name: m[name] for name in ("name", "state", "resources")} for m in members],
        "queues": len(objects.list_kind(tx, KUEUE, "ClusterQueue")),
        "revision": changes.last_revision(tx),
        "conditions": _conditions(tx),
    }


def _conditions(tx: Transaction) -> list[Json]:
    """What an administrator has to know of the hub itself."""
    why = timeline.stopped(tx)
    back = {"type": timeline.CODE, "status": "True", "reason": timeline.CODE, "message": why}
    left = forgotten.condition(tx)
    return [*([back] if why else []), *([left] if left else [])]


def restored(tx: Transaction) -> Json:
    """Whether the store went back, and what is left from before: {"stopped", "awaited", "items"}.

    `awaited`: members that have not been heard since a backup was restored.
    """
    since = timeline.restored_at(tx)
    awaited = []
    if since is not None:
        heard = joined_clusters(tx).items()
        awaited = sorted(name for name, at in heard if at is None or at <= since)
    return {
        "stopped": timeline.stopped(tx),
        "awaited": awaited,
        "items": forgotten.list_forgotten(tx),
    }


def list_placements(tx: Transaction) -> Json:
    """All placements: {"items"}."""
    return {
        "items": [
            _placement(row)
            for kind in _PLACEMENTS
            for row in objects.list_kind(tx, PLACEMENT, kind)
        ]
    }


def get_placement(tx: Transaction, namespace: str, name: str) -> Json:
    """A ClusterResourcePlacement, or a ResourcePlacement of a namespace. Raises Rejected: NotFound."""
    kind = _PLACEMENTS[1] if namespace else _PLACEMENTS[0]
    row = objects.find(tx, PLACEMENT, kind, namespace, name)
    if row is None:
        where = f"{namespace[:64]}/{name[:64]}" if namespace else name[:64]
        raise Rejected(RejectCode.NOT_FOUND, f"there is no placement {where}")
    return _placement(row)


def list_drift(tx: Transaction, pager: Pager, token: str | None, limit: int) -> Json:
    """Drifted fields, object by object: {"items", "continue"}; `limit` counts objects."""
    position = pager.position(token)
    after = None if position is None else (position[0], position[1])
    drifted = works.list_drifted(tx, after, limit + 1)
    more = len(drifted) > limit
    drifted = drifted[:limit]
    return {
        "items": [
            {
                "cluster": work.cluster,
                "uid": work.uid,
                "kind": work.kind,
                "namespace": work.namespace,
                "name": work.name,
                "path": each.get("path"),
                "hub": each.get("hub"),
                "member": each.get("member"),
                "firstSeen": each.get("first_seen"),
                "lastSeen": stamp(work.observed_at),
                "memberGeneration": work.member_generation(),
            }
            for work in drifted
            for each in work.drift
        ],
        "continue": pager.token([drifted[-1].cluster, drifted[-1].uid]) if more else "",
    }


def changes_since(tx: Transaction, revision: int, limit: int) -> tuple[Sequence[Json], bool]:
    """Rows of the change feed after `revision`, oldest first, revisions whole; and: is there more?

    A page is shorter where much was touched: whoever does not take it holds no more than that.

    Raises Rejected: Expired where `revision` is older than what is kept, or newer than the newest.
    """
    oldest, newest = changes.oldest_revision(tx), changes.last_revision(tx)
    if revision > newest or revision + 1 < oldest:
        raise Rejected(
            RejectCode.EXPIRED,
            f"revisions {oldest} to {newest} are kept: list again, then follow from the newest",
            "revision",
        )
    rows = changes.since(tx, revision, limit, MOST_KEYS)
    full = len(rows) == limit
    more = full or bool(rows and rows[-1][0] < newest)
    if full:  # the last revision may go on: it comes with the next page
        rows = [row for row in rows if row[0] != rows[-1][0]]
    return [
        {"revision": number, "kind": kind, "keys": keys, "at": stamp(at)}
        for number, kind, keys, at in rows
    ], more


def list_audit(tx: Transaction, pager: Pager, token: str | None, limit: int) -> Json:
    """Who did what, newest first: {"items", "continue"}."""
    position = pager.position(token)
    before = 0 if position is None else int(position[0])
    entries = audit.list_entries(tx, before=before, limit=limit + 1)
    more = len(entries) > limit
    entries = entries[:limit]
    return {
        "items": [
            {
                "id": entry.id,
                "at": stamp(entry.at),
                "principal": entry.principal,
                "verb": entry.verb,
                "object": entry.object,
                "outcome": entry.outcome,
            }
            for entry in entries
        ],
        "continue": pager.token([entries[-1].id]) if more else "",
    }


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

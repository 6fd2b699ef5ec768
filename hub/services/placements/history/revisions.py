"""The revisions of what a placement selects: listed with what changed, and gone back to.

They are immutable, hashed and kept as `revisionHistoryLimit` says, besides those that clusters have.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from hub.domain.instants import stamp
from hub.services.placements.history.fields import changed_fields
from hub.services.placements.history.rolled_back import (
    CONDITION,
    FIELD,
    Pin,
    condition,
    holding,
    is_external,
    mark_of,
    objects_as_of,
)
from hub.services.placements.snapshots import RESOURCES
from hub.store import audit, objects, placements
from hub.store.records.objects import StoredObject
from hub.store.records.placements import OF_A_JOB, Binding, SelectedObject, StoredRevision
from hub.store.transaction import Transaction
from shared.conditions import remove
from shared.documents import Json
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.placement_v1 import placement_kind
from shared.reject_codes import RejectCode

MOST: Final = 100  # revisions, newest first
MOST_OBJECTS: Final = 50  # of one revision, told as added, removed or changed
MOST_CLUSTERS: Final = 1000


def find_placement(tx: Transaction, namespace: str, name: str) -> StoredObject:
    """A ClusterResourcePlacement, or a ResourcePlacement of a namespace. Raises Rejected: NotFound."""
    kind = placement_kind(namespace)
    row = objects.find(tx, PLACEMENT, kind, namespace, name)
    if row is None or row.deleted_at is not None or not tx.scope.shows(namespace):
        place = "/".join(part for part in (namespace, name) if part)
        raise Rejected(RejectCode.NOT_FOUND, f"there is no {kind} {place[:320]}")
    return row


def read_name(text: str) -> tuple[str, str]:
    """`name`, or `namespace/name`: namespace and name."""
    namespace, _, name = text.rpartition("/")
    return namespace, name


def list_revisions(tx: Transaction, placement: str, limit: int = 20) -> Json:
    """The newest `limit` revisions of a placement, newest first: {"items"}. Raises Rejected: NotFound."""
    row = find_placement(tx, *read_name(placement))
    every = placements.revisions(tx, row.uid, RESOURCES)
    given = _given(tx, row.uid)
    newest = every[0].number if every else 0
    pin = holding(row, _mark(every[0])) if every else None
    shown = every[: min(limit, MOST)]
    manifests = _manifests(tx, row.uid, every[: len(shown) + 1])
    items = []
    for position, each in enumerate(shown):
        older = every[position + 1] if position + 1 < len(every) else None
        clusters = sorted(b.cluster for b in given if b.resource_snapshot == str(each.number))
        items.append(
            {
                "index": each.number,
                "hash": each.hash,
                "createdAt": stamp(each.created_at),
                "newest": each.number == newest,
                "current": each.number == (newest if pin is None else pin.number),
                "selected": len(each.content.get("selected") or ()),
                "clusters": clusters[:MOST_CLUSTERS],
                "changes": _changes(older, each, manifests),
            }
        )
    return {
        "kind": row.kind,
        "namespace": row.namespace if row.kind == "ResourcePlacement" else "",
        "name": row.name,
        "rollback": None if pin is None else _told(pin),
        "items": items,
    }


def _told(pin: Pin) -> Json:
    return {name: value for name, value in pin.as_json().items() if name != "left"}


def _given(tx: Transaction, uid: str) -> list[Binding]:
    return [b for b in placements.bindings_of(tx, uid) if b.policy_snapshot != OF_A_JOB]


def _objects(revision: StoredRevision | None) -> dict[str, SelectedObject]:
    entries = (revision.content.get("objects") or ()) if revision is not None else ()
    return {each[0]: SelectedObject._make(each) for each in entries}


def _mark(revision: StoredRevision) -> str:
    return mark_of(_objects(revision).values())


def _manifests(tx: Transaction, uid: str, shown: Sequence[StoredRevision]) -> Mapping[str, Json]:
    """The inputs of how objects changed from one revision to the next."""
    wanted: set[str] = set()
    for newer, older in pairwise(shown):
        wanted |= _of_changed(_objects(older), _objects(newer))
    return placements.get_contents(tx, uid, wanted)


def _of_changed(
    before: Mapping[str, SelectedObject], after: Mapping[str, SelectedObject]
) -> set[str]:
    both = [(before[uid], after[uid]) for uid in after if uid in before]
    changed = [pair for pair in both if pair[0].hash != pair[1].hash][:MOST_OBJECTS]
    return {each.hash for pair in changed for each in pair}


def _changes(
    older: StoredRevision | None, newer: StoredRevision, manifests: Mapping[str, Json]
) -> Json:
    """The additions of a revision to the one before; of the first kept revision, nothing."""
    if older is None:
        return {"added": [], "removed": [], "changed": [], "more": 0}
    before, after = _objects(older), _objects(newer)
    added = [_named(each) for uid, each in after.items() if uid not in before]
    removed = [_named(each) for uid, each in before.items() if uid not in after]
    differing = [
        (before[uid], each)
        for uid, each in after.items()
        if uid in before and before[uid].hash != each.hash
    ]
    told = (added[:MOST_OBJECTS], removed[:MOST_OBJECTS], differing[:MOST_OBJECTS])
    return {
        "added": told[0],
        "removed": told[1],
        "changed": [_changed(one, other, manifests) for one, other in told[2]],
        "more": len(added) + len(removed) + len(differing) - sum(len(each) for each in told),
    }


def _changed(one: SelectedObject, other: SelectedObject, manifests: Mapping[str, Json]) -> Json:
    if one.hash not in manifests or other.hash not in manifests:
        return {**_named(other), "changedFields": [], "fieldCount": 0}
    fields, count = changed_fields(manifests[one.hash], manifests[other.hash])
    return {
        **_named(other),
        "changedFields": [each.as_json() for each in fields],
        "fieldCount": count,
    }


def _named(each: SelectedObject) -> Json:
    group, _, version = each.api_version.rpartition("/")
    return {
        "group": group,
        "version": version,
        "kind": each.kind,
        "namespace": each.namespace,
        "name": each.name,
    }


class RollbackTo(NamedTuple):
    """The request: a revision to go back to, or (None) that the newest rolls out again."""

    to: int | None
    dry_run: bool = False


def roll_back(
    tx: Transaction, namespace: str, name: str, wish: RollbackTo, principal: str
) -> Json:
    """Clusters get an older revision, by the placement's own strategy; or the newest again.

    Raises Rejected: NotFound where there is no such placement or revision, InvalidState where staged runs
    say what its clusters get, or not all of the revision is kept.
    """
    row = find_placement(tx, namespace, name)
    every = placements.revisions(tx, row.uid, RESOURCES)
    if not every:
        raise Rejected(RejectCode.INVALID_STATE, "it has selected no objects yet: try again soon")
    newest = every[0].number
    held = holding(row, _mark(every[0]))
    now = newest if held is None else held.number
    then = newest if wish.to is None else wish.to
    by_number = {each.number: each for each in every}
    _require(tx, row, then, by_number, newest)
    moves = then != now
    if moves and not wish.dry_run:
        at = stamp(tx.now) or ""
        pin = None if then == newest else Pin(then, newest, _mark(every[0]), principal, at)
        _keep(tx, row, pin, principal, now, then)
    pair = [by_number[then], by_number[now]] if moves else []
    manifests = _manifests(tx, row.uid, pair)
    return {
        "kind": row.kind,
        "namespace": row.namespace if row.kind == "ResourcePlacement" else "",
        "name": row.name,
        "carriedOut": moves and not wish.dry_run,
        "fromIndex": now,
        "toIndex": then,
        "newestIndex": newest,
        "message": _message(now, then, newest),
        "clusters": [
            {
                "name": each.cluster,
                "index": each.resource_snapshot,
                "changes": each.resource_snapshot != str(then),
            }
            for each in _given(tx, row.uid)[:MOST_CLUSTERS]
            if each.selected
        ],
        "changes": _changes(by_number[now] if moves else None, by_number[then], manifests),
    }


def _require(
    tx: Transaction, row: StoredObject, to: int, known: Mapping[int, StoredRevision], newest: int
) -> None:
    if is_external(row.spec or {}):
        text = (
            "its strategy is External: a staged run gives its clusters an older revision, by "
            "spec.resourceSnapshotIndex"
        )
        raise Rejected(RejectCode.INVALID_STATE, text)
    if to not in known:
        there = ", ".join(str(each) for each in sorted(known, reverse=True)[:20])
        raise Rejected(RejectCode.NOT_FOUND, f"no revision {to} of it is kept: {there} are", "to")
    if to != newest and objects_as_of(tx, row.uid, to) is None:
        text = f"not all objects of revision {to} are kept: it is from an earlier release"
        raise Rejected(RejectCode.INVALID_STATE, text, "to")


def _keep(
    tx: Transaction, row: StoredObject, pin: Pin | None, principal: str, now: int, then: int
) -> None:
    """Write it down where the controller finds it, and who asked."""
    status = dict(row.status or {})
    conditions = list(status.get("conditions") or [])
    if pin is None:
        status.pop(FIELD, None)
        status["conditions"] = remove(conditions, CONDITION)
    else:
        status[FIELD] = pin.as_json()
        status["conditions"] = condition(tx, conditions, pin, row)
    objects.set_statuses(tx, {row.uid: status})
    place = "/".join(part for part in (row.namespace, row.name) if part)
    audit.add(tx, principal, "rollback", f"{row.kind} {place} {row.uid}", f"{now} to {then}")
    reason = "PlacementRolledBack" if pin is not None else "PlacementReleased"
    text = f"from revision {now} to {then}, as {principal} asked"
    tx.say(row, reason, text)


def _message(now: int, then: int, newest: int) -> str:
    if now == then:
        return f"clusters already get revision {then}"
    if then == newest:
        return f"from revision {now} to {then}, the newest: changes roll out again"
    return f"from revision {now} to {then}: it stays so until the selected objects change or you release it"

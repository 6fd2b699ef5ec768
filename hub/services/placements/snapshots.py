"""Revisions of what a placement selects and of its policy: a new one where it has changed.

A revision of what is selected keeps the objects as they were (`contents`), so that a cluster can be given
it later, and go back to it.
"""

import hashlib
from collections.abc import Collection, Sequence

import orjson

from hub.services.placements.selecting import Selection
from hub.store import placements, works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import SelectedObject, StoredSnapshot
from hub.store.transaction import Transaction
from shared.documents import JsonView

RESOURCES = "resources"
POLICY = "policy"


def snapshot_resources(
    tx: Transaction, uid: str, selection: Selection, spec: JsonView, used: Collection[int] = ()
) -> int:
    """The index of what is selected now; a new one when it has changed.

    `used`: revisions that clusters were given, which stay however old they are.
    """
    told = [[r.group, r.version, r.kind, r.namespace, r.name] for r in selection.resources()]
    entries = entries_of(selection)
    hashed = {"selected": told, "objects": [[each.uid, each.hash] for each in entries]}
    content = {"selected": told, "objects": [list(each) for each in entries]}
    before = placements.latest_snapshot(tx, uid, RESOURCES)
    index = _snapshot(tx, uid, RESOURCES, hashed, content, spec, used).number
    if before is None or before.number != index:
        placements.add_contents(
            tx, uid, {row.hash: row.manifest for row in selection.objects.values()}
        )
        _drop_unused(tx, uid)
    return index


def snapshot_policy(tx: Transaction, uid: str, spec: JsonView) -> str:
    """The hash of the policy, by which bindings know whether they are of this one."""
    policy = spec.get("policy") or {}
    return _snapshot(tx, uid, POLICY, policy, policy, spec).hash


def entries_of(selection: Selection) -> list[SelectedObject]:
    """The selected objects in the order of their names."""
    found = [_entry(row) for row in selection.objects.values()]
    return sorted(found, key=lambda e: (e.api_version, e.kind, e.namespace, e.name))


def entries_at(tx: Transaction, uid: str, index: str) -> Sequence[SelectedObject] | None:
    """The objects of revision `index`; None where that is not kept, or keeps none."""
    content = placements.snapshot(tx, uid, RESOURCES, int(index)) if index.isdecimal() else None
    told = (content or {}).get("objects")
    return None if told is None else [SelectedObject(*each) for each in told]


def _entry(row: StoredObject) -> SelectedObject:
    return SelectedObject(
        row.uid, row.hash, row.generation, row.api_version, row.kind, row.namespace, row.name
    )


def _snapshot(
    tx: Transaction,
    uid: str,
    part: str,
    told: JsonView,
    content: JsonView,
    spec: JsonView,
    used: Collection[int] = (),
) -> StoredSnapshot:
    hashed = hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()
    latest = placements.latest_snapshot(tx, uid, part)
    if latest is not None and latest.hash == hashed:
        return latest
    number = 0 if latest is None else latest.number + 1
    keep = int(spec.get("revisionHistoryLimit") or 10)
    placements.add_snapshot(tx, uid, part, number, hashed, content, keep, used)
    return StoredSnapshot(number, hashed)


def _drop_unused(tx: Transaction, uid: str) -> None:
    """Forget what no revision and no cluster has any more."""
    used = {work.content for work in works.of_placement(tx, uid)}
    for _, content, _ in placements.history(tx, uid, RESOURCES):
        used |= {each[1] for each in content.get("objects") or ()}
    placements.drop_contents(tx, uid, placements.known_contents(tx, uid) - used)

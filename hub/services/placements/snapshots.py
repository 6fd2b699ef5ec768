"""Revisions of what a placement selects and of its policy: a new one where it has changed.

A revision of what is selected keeps the objects as they were (`contents`), so that a cluster can be given
it later, and go back to it.
"""

import hashlib
from collections.abc import Collection

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
    found = objects_of(selection)
    hashed = {"selected": told, "objects": [[each.uid, each.hash] for each in found]}
    content = {"selected": told, "objects": [list(each) for each in found]}
    if selection.inside:  # says nothing of what members get
        content["inside"] = selection.inside
    before = placements.latest_snapshot(tx, uid, RESOURCES)
    index = _snapshot(tx, uid, RESOURCES, hashed, content, spec, used).number
    if before is None or before.number != index:
        placements.add_contents(
            tx, uid, {row.hash: row.manifest for row in selection.objects.values()}
        )
        _drop_unused(tx, uid)
    return index


def snapshot_policy(tx: Transaction, uid: str, spec: JsonView) -> str:
    """The hash of the policy, by which bindings know whether they are of this one.

    How many clusters are wanted is left out, as in KubeFleet: who was picked stays when that changes.
    """
    return _snapshot(tx, uid, POLICY, _uncounted(spec), _uncounted(spec), spec).hash


def policy_hashes(spec: JsonView) -> frozenset[str]:
    """Hashes of bindings that are of this policy; earlier hubs counted the number of clusters in."""
    return frozenset({_hash(_uncounted(spec)), _hash(spec.get("policy") or {})})


def objects_of(selection: Selection) -> list[SelectedObject]:
    """The selected objects in the order of their names."""
    found = [_as_selected(row) for row in selection.objects.values()]
    return sorted(found, key=lambda e: (e.api_version, e.kind, e.namespace, e.name))


def objects_at(tx: Transaction, uid: str, index: int) -> list[SelectedObject] | None:
    """The objects of a revision that is kept; None of one that is not."""
    content = placements.get_snapshot(tx, uid, RESOURCES, index)
    if content is None:
        return None
    return [SelectedObject(*each) for each in content.get("objects") or ()]


def policy_index(tx: Transaction, uid: str) -> int:
    """The number of the newest revision of a placement's policy."""
    latest = placements.latest_snapshot(tx, uid, POLICY)
    return 0 if latest is None else latest.number


def _as_selected(row: StoredObject) -> SelectedObject:
    return SelectedObject(
        row.uid, row.hash, row.generation, row.api_version, row.kind, row.namespace, row.name
    )


def _uncounted(spec: JsonView) -> JsonView:
    policy: JsonView = spec.get("policy") or {}
    return {name: value for name, value in policy.items() if name != "numberOfClusters"}


def _hash(content: object) -> str:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _snapshot(
    tx: Transaction,
    uid: str,
    part: str,
    told: JsonView,
    content: JsonView,
    spec: JsonView,
    used: Collection[int] = (),
) -> StoredSnapshot:
    hashed = _hash(told)
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

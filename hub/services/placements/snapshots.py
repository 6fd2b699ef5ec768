"""Revisions of what a placement selects and of its policy: a new one where it has changed."""

import hashlib

import orjson

from hub.services.placements.selecting import Selection
from hub.store import placements
from hub.store.records.placements import StoredSnapshot
from hub.store.transaction import Transaction
from shared.documents import JsonView


def snapshot_resources(tx: Transaction, uid: str, selection: Selection, spec: JsonView) -> int:
    """The index of what is selected now; a new one when it has changed."""
    told = [[r.group, r.version, r.kind, r.namespace, r.name] for r in selection.resources()]
    hashes = sorted(row.hash for row in selection.objects.values())
    return _snapshot(tx, uid, "resources", {"selected": told, "hashes": hashes}, spec).number


def snapshot_policy(tx: Transaction, uid: str, spec: JsonView) -> str:
    """The hash of the policy, by which bindings know whether they are of this one.

    How many clusters are wanted is left out, as in KubeFleet: who was picked stays when that changes.
    """
    return _snapshot(tx, uid, "policy", _uncounted(spec), spec).hash


def policy_hashes(spec: JsonView) -> frozenset[str]:
    """Hashes of bindings that are of this policy; earlier hubs counted the number of clusters in."""
    return frozenset({_hash(_uncounted(spec)), _hash(spec.get("policy") or {})})


def _uncounted(spec: JsonView) -> JsonView:
    policy: JsonView = spec.get("policy") or {}
    return {name: value for name, value in policy.items() if name != "numberOfClusters"}


def _hash(content: object) -> str:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _snapshot(
    tx: Transaction, uid: str, part: str, content: object, spec: JsonView
) -> StoredSnapshot:
    hashed = _hash(content)
    latest = placements.latest_snapshot(tx, uid, part)
    if latest is not None and latest.hash == hashed:
        return latest
    number = 0 if latest is None else latest.number + 1
    keep = int(spec.get("revisionHistoryLimit") or 10)
    placements.add_snapshot(tx, uid, part, number, hashed, content, keep)
    return StoredSnapshot(number, hashed)

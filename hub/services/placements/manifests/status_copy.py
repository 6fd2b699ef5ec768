"""The status of a placement in the namespace that it places: statusReportingScope NamespaceAccessible.

A ClusterResourcePlacementStatus of the placement's name has the same status, for those who may read nothing
outside their namespace. The hub alone keeps it, as a row like any object: REST reads it, the bridge shows it.
"""

import hashlib
from typing import Final

import orjson

from hub.domain.placement.rungs import Status
from hub.domain.workloads.origin import Origin
from hub.services.context.ids import new_uid
from hub.services.placements.selecting import NAMESPACE, Selection
from hub.store import objects
from hub.store.records.objects import ObjectColumns, StoredObject
from hub.store.transaction import Transaction
from shared.conditions import Condition, find, rfc3339, set_condition
from shared.documents import Json, JsonView
from shared.groups import PLACEMENT
from shared.kinds.placement_status import STATUS_COPY as KIND

SYNCED: Final = "ClusterResourcePlacementStatusSynced"
_VERSION: Final = f"{PLACEMENT}/v1beta1"


def is_asked(spec: JsonView) -> bool:
    """True if the status is wanted in the namespace too."""
    return spec.get("statusReportingScope") == "NamespaceAccessible"


def keep(tx: Transaction, row: StoredObject, selection: Selection, status: Json) -> None:
    """Bring the copy level with `status`, to which the condition that says so is added.

    It is where the placement's one namespace is, if the hub has that, and nowhere else.
    """
    before = (row.status or {}).get("conditions")
    if not is_asked(row.spec or {}):
        if find(before, SYNCED) is not None:
            remove(tx, row)
        return
    namespace = _namespace(row.spec or {})
    there = {each.namespace: each for each in _copies(tx, row)}
    known = any(each.kind == "Namespace" and each.name == namespace for each in _plain(selection))
    for each in there.values():
        if each.namespace != namespace or not known:
            objects.remove(tx, each.uid)
    if known:
        _write(tx, row, namespace, there.get(namespace), status)
        text = f"the status is in namespace {namespace} too"
    elif namespace:
        text = f"the hub has no namespace {namespace}: only the placement shows the status"
    else:
        text = "the selector of the Namespace must name it: only the placement shows the status"
    said = _condition(tx, row, before, text, fault=not known)
    status["conditions"] = [*status["conditions"], said]


def remove(tx: Transaction, row: StoredObject) -> None:
    """The placement goes, or keeps its status to itself."""
    for each in _copies(tx, row):
        objects.remove(tx, each.uid)


def watched(row: StoredObject, selection: Selection) -> frozenset[str]:
    """Uids of what the copy depends on beside the placement: its namespace."""
    if not is_asked(row.spec or {}):
        return frozenset()
    return frozenset(each.uid for each in _plain(selection) if each.kind == "Namespace")


def _plain(selection: Selection) -> list[StoredObject]:
    return [row for uid, row in selection.objects.items() if uid not in selection.inside]


def _namespace(spec: JsonView) -> str:
    for each in spec.get("resourceSelectors") or ():
        if (each.get("group") or "", each.get("kind")) == NAMESPACE:
            return str(each.get("name") or "")
    return ""


def _copies(tx: Transaction, row: StoredObject) -> list[StoredObject]:
    found = objects.list_kind(tx, PLACEMENT, KIND, names=[row.name])
    return [each for each in found if each.origin == Origin.HUB]


def _condition(
    tx: Transaction,
    row: StoredObject,
    before: list[Condition] | None,
    text: str,
    *,
    fault: bool,
) -> Condition:
    old = find(before, SYNCED)
    known = [] if old is None else [dict(old)]
    reason = "StatusSyncFailed" if fault else "StatusSyncSucceeded"
    truth: Status = "False" if fault else "True"
    return set_condition(known, SYNCED, truth, reason, text, tx.now, row.generation)[0]


def _write(
    tx: Transaction,
    row: StoredObject,
    namespace: str,
    old: StoredObject | None,
    status: JsonView,
) -> None:
    if old is not None and old.manifest.get("sourceStatus") == status:
        return
    manifest: Json = {
        "apiVersion": _VERSION,
        "kind": KIND,
        "metadata": {"name": row.name, "namespace": namespace},
        "sourceStatus": dict(status),
        "lastUpdatedTime": rfc3339(tx.now),
    }
    body = orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)
    hashed = hashlib.blake2b(body, digest_size=16).hexdigest()
    if old is not None:
        changed: ObjectColumns = {
            "manifest": manifest,
            "hash": hashed,
            "generation": old.generation + 1,
            "updated_at": tx.now,
        }
        objects.change(tx, old.uid, **changed)
        return
    objects.add(
        tx,
        StoredObject(
            uid=new_uid(tx.now),
            api_group=PLACEMENT,
            api_version=_VERSION,
            kind=KIND,
            namespace=namespace,
            name=row.name,
            origin=Origin.HUB,
            generation=1,
            labels={},
            annotations={},
            spec=None,
            manifest=manifest,
            hash=hashed,
            status=None,
            created_at=tx.now,
            updated_at=tx.now,
            deleted_at=None,
        ),
    )

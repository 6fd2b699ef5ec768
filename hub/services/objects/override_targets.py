"""Overrides for a placement that is not there, or that is there in the other scope: they change nothing."""

from hub.domain.placement.overrides import SCOPES, scope_of
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.kinds.placement_v1 import GROUP as PLACEMENT


def missing(tx: Transaction, row: StoredObject) -> str:
    """The present message about an override; "" if its placement exists, or it names none."""
    wanted = (row.spec or {}).get("placement")
    if not isinstance(wanted, dict):
        return ""
    scope, name = scope_of(wanted), str(wanted.get("name"))
    there = {
        meant: kind for kind, meant in SCOPES.items() if _is_there(tx, kind, row.namespace, name)
    }
    if scope in there:
        return ""
    text = f"spec.placement: there is no placement {name} of scope {scope}"
    for meant, kind in there.items():
        text += f", and there is a {kind} of that name: write scope: {meant}"
    return text


def _is_there(tx: Transaction, kind: str, namespace: str, name: str) -> bool:
    """A placement; a namespaced one in any namespace where the override is cluster-scoped."""
    if kind == "ClusterResourcePlacement":
        return objects.find(tx, PLACEMENT, kind, "", name) is not None
    rows = objects.list_kind(tx, PLACEMENT, kind, names=[name])
    return any(row.namespace == namespace or not namespace for row in rows)

"""An eviction asked for by REST or CLI: shown first, then made as an object like any other."""

from typing import Final

from hub.domain.rollout.removal import ObjectFate
from hub.services.context.ids import generated_name
from hub.services.context.settings import Settings
from hub.services.objects import evictions
from hub.services.objects.apply import apply_documents
from hub.services.objects.evictions import Evictable
from hub.services.placements.bindings import EVICTED, FOR_A_JOB
from hub.services.reading.draft import draft
from hub.services.removals import before
from hub.store import audit, objects, works
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.placement_v1 import placement_kind
from shared.kinds.registry import parse
from shared.reject_codes import RejectCode

_VERSION: Final = f"{PLACEMENT}/v1beta1"
_NAME_CHARS: Final = 200  # of the placement's name, in that of its eviction


def evict_placement(
    tx: Transaction,
    namespace: str,
    name: str,
    cluster: str,
    settings: Settings,
    principal: str,
    *,
    carry_out: bool,
) -> Json:
    """The losses of a placement in one cluster; with `carry_out` it loses them. Raises Rejected: NotFound.

    {"kind", "namespace", "name", "cluster", "valid", "allowed", "message", "objectCount", "jobCount",
    "members": what that does there, as `before.told` has it, "eviction": name of the object that was made,
    "" where nothing was}.
    """
    kind = placement_kind(namespace)
    found = evictions.look(tx, kind, namespace, name, cluster)
    if found.row is None:
        place = "/".join(part for part in (namespace, name) if part)
        raise Rejected(RejectCode.NOT_FOUND, f"there is no {kind} {place[:320]}")
    made = ""
    answer = _answer(tx, found, cluster)
    if carry_out:
        made = _make(tx, kind, namespace, name, cluster, settings, principal)
        place = "/".join(part for part in (namespace, name) if part)
        audit.add(tx, principal, "evict", f"{kind} {place}", f"from {cluster[:64]}")
    return {"namespace": namespace, "name": name, "kind": kind, **answer, "eviction": made}


def _answer(tx: Transaction, found: Evictable, cluster: str) -> Json:
    verdict = found.verdict
    row, mine = found.row, found.binding
    held = works.of_placement(tx, row.uid) if row is not None and mine is not None else []
    fates: list[ObjectFate] = []
    if row is not None and mine is not None:
        all_of_it = mine.policy_snapshot not in (FOR_A_JOB, EVICTED)
        fates = before.of_eviction(tx, row, cluster, found.jobs, objects_too=all_of_it)
    return {
        "cluster": cluster,
        "valid": verdict.valid,
        "allowed": verdict.allowed,
        "message": verdict.message,
        "objectCount": sum(each.cluster == cluster and each.epoch == 0 for each in held),
        "jobCount": len(found.jobs),
        "members": before.told(fates),
    }


def _make(
    tx: Transaction,
    kind: str,
    namespace: str,
    name: str,
    cluster: str,
    settings: Settings,
    principal: str,
) -> str:
    """The eviction as an object, which is carried out as it is stored; its name."""
    manifest: Json = {
        "apiVersion": _VERSION,
        "kind": f"{kind}Eviction",
        "metadata": {"name": generated_name(f"{name[:_NAME_CHARS]}-")},
        "spec": {"placementName": name, "clusterName": cluster},
    }
    if namespace:
        manifest["metadata"]["namespace"] = namespace
    given = draft(parse(manifest), tx.now, submitted_by=principal)
    (applied,) = apply_documents(tx, [given], settings.intake)
    if applied.error is not None:
        raise applied.error
    stored = objects.get(tx, applied.uid)
    assert stored is not None
    return stored.name

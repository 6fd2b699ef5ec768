"""Statuses of placed objects, back on the hub: strategy.reportBackStrategy, type Mirror.

Destination OriginalResource where one cluster alone can hold the objects: the member's status is that of the
object on the hub. In all other cases, and for WorkAPI (there is no such API here), the statuses are told per
cluster in the placement's own status. Kinds whose status the hub itself keeps are never overwritten.
Below: what a work says of one object in one cluster, for the placement's own status.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

import orjson

from hub.domain.placement.status import Item, Resource
from hub.services.placements.abandon import HELD
from hub.services.placements.selecting import Selection, resource_of
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.conditions import find, rfc3339
from shared.documents import Json, JsonView
from shared.groups import CLUSTER, KUEUE, PLACEMENT
from shared.kinds import unheeded
from shared.wire.agent_v1 import DIFF_REPORTED

MOST_BYTES: Final = (
    256 * 1024
)  # of all statuses in a placement's own, in equal parts for its clusters
_ITS_OWN: Final = frozenset({KUEUE, PLACEMENT, CLUSTER})


def is_asked(spec: JsonView) -> bool:
    """True if a placement asks for statuses of its objects."""
    return _strategy(spec).get("type") == "Mirror"


def is_to_original(spec: JsonView) -> bool:
    """True if they become the statuses of the objects themselves: only one cluster can hold them."""
    return is_asked(spec) and unheeded.reports_to_original(spec)


def reported(work: Work | None) -> JsonView | None:
    """A member's last report of the object's status; None: nothing of the present generation."""
    if work is None or work.phase != "Applied" or not work.options.report_status:
        return None
    found: JsonView | None = (work.observed or {}).get("status")
    return found


def copy_statuses(
    tx: Transaction,
    spec: JsonView,
    selected: Iterable[StoredObject],
    held: Mapping[str, Work],
    placement: str,
) -> None:
    """Bring the statuses of objects level with what their member tells; `held`: works by uid.

    If its status is no longer reported, it has none: it is not known. What another placement has put
    in the cluster is not this one's to tell.
    """
    to_original = is_to_original(spec)
    changed: dict[str, JsonView | None] = {}
    for row in selected:
        work = held.get(row.uid)
        if resource_of(row).group in _ITS_OWN or (
            work is not None and work.placed_by != placement
        ):
            continue
        told = reported(work) if to_original else None
        wanted = _with_notice(told, row)
        if wanted != row.status and (told is not None or unheeded.says_more(row.status)):
            changed[row.uid] = wanted
    objects.set_statuses(tx, changed)


def per_cluster(
    spec: JsonView,
    selection: Selection,
    held: Mapping[tuple[str, str], Work],
    clusters: Collection[str],
    placement: str,
) -> dict[str, list[Json]]:
    """What objects say of themselves in each cluster, where it does not go to the objects on the hub.

    `held`: works by cluster and uid. A status for which there is no room in the placement's own is left out.
    What lies in an envelope is no object on the hub, and told here wherever the others' go.
    """
    if not is_asked(spec):
        return {}
    to_original = is_to_original(spec)
    rows = [
        row for uid, row in selection.objects.items() if not to_original or uid in selection.inside
    ]
    told: dict[str, list[Json]] = {}
    for cluster in clusters:
        left = MOST_BYTES // len(clusters)
        for row in rows:
            work = held.get((cluster, row.uid))
            status = reported(work)
            if work is None or status is None or work.placed_by != placement:
                continue
            resource = resource_of(row)
            entry: Json = replace(resource, envelope=selection.inside.get(row.uid, "")).named()
            if work.observed_at is not None:
                entry["observationTime"] = rfc3339(work.observed_at)
            left -= len(orjson.dumps(status))
            if left >= 0:
                entry["status"] = dict(status)
            told.setdefault(cluster, []).append(entry)
    return told


def _with_notice(told: JsonView | None, row: StoredObject) -> Json | None:
    """The status as told, and the condition by which the hub says what it does not act on."""
    ours = find((row.status or {}).get("conditions"), unheeded.CONDITION)
    if ours is None:
        return None if told is None else dict(told)
    others = [
        each
        for each in (told or {}).get("conditions") or ()
        if not (isinstance(each, dict) and each.get("type") == unheeded.CONDITION)
    ]
    return {**(told or {}), "conditions": [*others, ours]}


def _strategy(spec: JsonView) -> JsonView:
    found: JsonView = (spec.get("strategy") or {}).get("reportBackStrategy") or {}
    return found


def said_of(work: Work) -> str:
    """The member's words, and what would help where that is plain."""
    message = work.message
    if work.reason == "NamespaceMissing":
        hint = (
            f"a ClusterResourcePlacement that selects Namespace {work.namespace} brings it there"
        )
        return f"{message}; {hint}"
    return message


def is_compared(work: Work) -> bool | None:
    """True once its agent has compared this very version, False where it cannot, None before."""
    if work.phase == "Failed":
        return False
    told = work.phase == "Applied" and work.reason == DIFF_REPORTED
    return True if told and work.observed_generation >= work.generation else None


def is_applied(work: Work) -> bool | None:
    """True once its agent has applied this very version, False where it failed, None before."""
    match work.phase:
        case "Applied" if work.reason == DIFF_REPORTED:
            return None  # only compared, so far
        case "Applied":
            return True if work.observed_generation >= work.generation else None
        case "Failed" | "Missing":
            return False
        case _:
            return None


def member_generation(work: Work | None) -> int:
    """The generation of the live object that its agent last reported; 0: unknown."""
    observed = work.observed if work is not None else None
    return int((observed or {}).get("member_generation") or 0)


def as_placed(resource: Resource, work: Work, owner: str) -> Item:
    """The result of a comparison, taken from the report on another placement's work."""
    if work.action not in HELD:
        return Item(resource, message=f"{owner} withdraws it: it is compared once it is gone")
    compared = is_compared(work) if work.action == "Compare" else is_applied(work)
    return Item(
        resource,
        applied=compared,
        reason=work.reason if compared is False else "",
        message=f"{owner} holds it here: {said_of(work) or 'its report is what is compared'}",
        generation=member_generation(work),
        drifts=work.drift or (),
        observed_at=work.observed_at,
    )

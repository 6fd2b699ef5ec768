"""Objects of any kind but Jobs: look at them, list them, delete them."""

from typing import Any, Final

import orjson

from hub.services import effects, queue_figures, secrecy, views
from hub.services.drafts import ORIGIN_ANY, ORIGIN_HUB
from hub.services.evict import evict
from hub.services.paging import Pager
from hub.store import audit, jobs, objects
from hub.store.unit import Unit
from shared.errors import Rejected
from shared.kinds.cluster_v1 import GROUP as FLEET
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.placement_v1 import GROUP as PLACEMENT

Row = dict[str, Any]
_PAGE_BYTES: Final = 2 << 20  # of manifests, after which a page ends
_STEP: Final = 20  # objects read at once
# What these caused in members is taken back first; the placements' service removes them then.
_TAKEN_BACK: Final = frozenset({"ClusterResourcePlacement", "ResourcePlacement"})


def get_object(unit: Unit, group: str, kind: str, namespace: str, name: str) -> Row:
    """One object, Secrets redacted. Raises Rejected: NotFound."""
    (row,) = queue_figures.with_statuses(unit, [find(unit, group, kind, namespace, name)])
    return secrecy.redacted(unit, views.whole_object(row))


def list_objects(
    unit: Unit,
    group: str,
    kind: str,
    namespace: str,
    pager: Pager,
    token: str | None,
    limit: int,
) -> Row:
    """A page of one kind by namespace and name: {"items", "continue"}; shorter where objects are large."""
    position = pager.position(token)
    after = None if position is None else (position[0], position[1])
    rows: list[Row] = []
    size, more = 0, True
    while more and len(rows) < limit and size < _PAGE_BYTES:
        wanted = min(_STEP, limit - len(rows))
        found = objects.list_kind(
            unit, group, kind, namespace=namespace, after=after, limit=wanted + 1
        )
        more = len(found) > wanted
        for row in found[:wanted]:
            if size >= _PAGE_BYTES:
                more = True
                break
            rows.append(row)
            size += len(orjson.dumps(row["manifest"]))
            after = (row["namespace"], row["name"])
    return {
        "items": [
            secrecy.redacted(unit, views.whole_object(row))
            for row in queue_figures.with_statuses(unit, rows)
        ],
        "continue": pager.token(list(after)) if more and after is not None else "",
    }


def list_kinds(unit: Unit) -> Row:
    """Kinds that the hub holds, with how many of each."""
    return {
        "items": [
            {"group": group, "kind": kind, "count": count}
            for group, kind, count in objects.kinds(unit)
        ]
    }


def find(unit: Unit, group: str, kind: str, namespace: str, name: str) -> Row:
    """The row. Raises Rejected: NotFound."""
    row = objects.find(unit, group, kind, namespace, name)
    if row is None:
        where = f"{namespace[:64]}/{name[:64]}" if namespace else name[:64]
        raise Rejected("NotFound", f"there is no {kind[:64]} {where}")
    return row


def delete_object(
    unit: Unit,
    group: str,
    kind: str,
    namespace: str,
    name: str,
    *,
    origin: str,
    principal: str,
    expected: str = "",
    drain: bool = False,
) -> Row:
    """Delete one object; {"result": "deleted" | "deleting"}. `drain`: what a ClusterQueue runs goes first.

    A placement is only marked: it goes when what it caused is gone. Raises Rejected: NotFound,
    OwnedElsewhere, PreconditionFailed (another uid), NamespaceNotEmpty, ClusterNotEmpty, QueueNotEmpty.
    """
    row = find(unit, group, kind, namespace, name)
    if expected and expected != row["uid"]:
        raise Rejected(
            "PreconditionFailed", f"the object has uid {row['uid']}", "preconditions.uid"
        )
    if row["origin"] not in {origin, ORIGIN_ANY, ORIGIN_HUB}:
        text = f"{kind} {name} came from {row['origin']} and can not be deleted from {origin}"
        raise Rejected("OwnedElsewhere", text)
    if drain and (group, kind) == (KUEUE, "ClusterQueue"):
        _drain(unit, name)
    else:
        _refuse_if_used(unit, row)
    audit.add(
        unit, principal=principal, verb="delete", object=_path(row), outcome=f"origin {origin}"
    )
    if group == PLACEMENT and kind in _TAKEN_BACK:
        if row["deleted_at"] is None:
            objects.change(unit, row["uid"], deleted_at=unit.now)
        return {"uid": row["uid"], "result": "deleting"}
    objects.remove(unit, row["uid"])
    effects.deleted(unit, row)
    unit.event(
        uid=row["uid"],
        kind=kind,
        namespace=namespace,
        name=name,
        reason="Deleted",
        message=f"deleted by {principal}",
    )
    return {"uid": row["uid"], "result": "deleted"}


def _drain(unit: Unit, queue: str) -> None:
    """Take back what a ClusterQueue has admitted."""
    message = f"ClusterQueue {queue} is deleted: its workloads are drained"
    evict(unit, jobs.charged_to(unit, queue), "ClusterQueueStopped", message)


def _refuse_if_used(unit: Unit, row: Row) -> None:
    """Raise where something still depends on the object."""
    name = row["name"]
    match (row["api_group"], row["kind"]):
        case ("", "Namespace"):
            left = [each for each in objects.list_namespace(unit, name, 2) if not _provided(each)]
            if left or jobs.count_in_namespace(unit, name):
                raise Rejected(
                    "NamespaceNotEmpty", f"namespace {name} still holds objects or jobs"
                )
        case (group, "MemberCluster") if group == FLEET:
            held = jobs.count_by_cluster(unit).get(name, 0)
            if held:
                raise Rejected(
                    "ClusterNotEmpty",
                    f"cluster {name} may still run {held} jobs: cordon it and let them end",
                )
        case (group, "ClusterQueue") if group == KUEUE:
            charged = jobs.charged_to(unit, name)
            if charged:
                raise Rejected(
                    "QueueNotEmpty",
                    f"{len(charged)} jobs are charged to ClusterQueue {name}: let them end, or "
                    "delete it with drain=true",
                )
        case _:
            return


def _provided(row: Row) -> bool:
    return bool(row["origin"] == ORIGIN_HUB)


def _path(row: Row) -> str:
    return "/".join(each for each in (row["kind"], row["namespace"], row["name"]) if each)

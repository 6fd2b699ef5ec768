"""Workloads as seen from the clusters they are on: counts, and which of them a rule concerns."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Integer, bindparam, case, func, null, or_, select, update

from hub.store.bulk import Bulk
from hub.store.tables import workloads
from hub.store.unit import Unit
from hub.store.works import chunks

_COUNTED = ("succeeded", "failed", "active", "ready", "reason", "message")
_NOW = bindparam("b_now", type_=workloads.c.pods_ready_at.type)
_ALL_READY = bindparam("b_all_ready", type_=Integer) == 1
_READY_AT = workloads.c.pods_ready_at
_COUNT = Bulk(
    update(workloads)
    .where(workloads.c.uid == bindparam("b_uid"), workloads.c.epoch == bindparam("b_epoch"))
    .values(
        {name: bindparam(f"b_{name}") for name in _COUNTED}
        | {
            "pods_ready_at": case((_ALL_READY, func.coalesce(_READY_AT, _NOW)), else_=_READY_AT),
            "pods_lost_at": case(
                (or_(_ALL_READY, _READY_AT.is_(None)), null()),
                else_=func.coalesce(workloads.c.pods_lost_at, _NOW),
            ),
        }
    )
)


def count(unit: Unit, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set counts, reason and message of workloads whose state stays: uid, epoch, succeeded …

    With `all_ready` (a bool): since when all its pods are ready, or no longer are.
    """
    if not rows:
        return
    names = ("uid", "epoch", *_COUNTED)
    _COUNT.run(
        unit.conn,
        [
            {f"b_{name}": row[name] for name in names}
            | {"b_all_ready": int(row["all_ready"]), "b_now": unit.now}
            for row in rows
        ],
    )
    unit.touch("workloads", *(row["uid"] for row in rows))


def jobs_on(unit: Unit, clusters: Iterable[str], states: Sequence[str]) -> list[dict[str, Any]]:
    """Workloads on the given clusters in the given states: uid, epoch, cluster."""
    query = select(workloads.c.uid, workloads.c.epoch, workloads.c.cluster).where(
        workloads.c.state.in_(states)
    )
    return [
        dict(row)
        for chunk in chunks(clusters)
        for row in unit.conn.execute(query.where(workloads.c.cluster.in_(chunk))).mappings()
    ]


def live_of(unit: Unit, origin: str, kind: str) -> dict[str, tuple[str, str]]:
    """Workloads of one origin and kind that hold their names: uid → (namespace, name)."""
    c = workloads.c
    query = select(c.uid, c.namespace, c.name).where(
        c.origin == origin, c.kind == kind, c.live.is_(True)
    )
    return {uid: (namespace, name) for uid, namespace, name in unit.conn.execute(query)}


def jobs_placed_before(
    unit: Unit, instant: dt.datetime, states: Sequence[str], *, awaiting_nodes: bool = False
) -> list[dict[str, Any]]:
    """Workloads in the given states that were placed before `instant`, at most 1,000.

    Of those whose cluster had the room, or of those for which it must add nodes first.
    """
    c = workloads.c
    query = (
        select(c.uid, c.epoch, c.cluster, c.reason, c.message, c.set_aside)
        .where(c.state.in_(states), c.placed_at < instant)
        .where(c.new_nodes.is_not(None) if awaiting_nodes else c.new_nodes.is_(None))
        .limit(1000)
    )
    return [dict(row) for row in unit.conn.execute(query).mappings()]

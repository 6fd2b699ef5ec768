"""Workloads as seen from the clusters they are on: counts, and which of them a rule concerns."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, select, update

from hub.store.bulk import Bulk
from hub.store.tables import workloads
from hub.store.unit import Unit
from hub.store.works import chunks

_COUNTED = ("succeeded", "failed", "active", "ready", "reason", "message")
_COUNT = Bulk(
    update(workloads)
    .where(workloads.c.uid == bindparam("b_uid"), workloads.c.epoch == bindparam("b_epoch"))
    .values({name: bindparam(f"b_{name}") for name in _COUNTED})
)


def count(unit: Unit, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set counts, reason and message of workloads whose state stays: uid, epoch, succeeded …"""
    if not rows:
        return
    names = ("uid", "epoch", *_COUNTED)
    _COUNT.run(unit.conn, [{f"b_{name}": row[name] for name in names} for row in rows])
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


def live_jobs_of(unit: Unit, origin: str) -> dict[str, tuple[str, str]]:
    """Workloads of one origin that hold their names: uid → (namespace, name)."""
    c = workloads.c
    query = select(c.uid, c.namespace, c.name).where(c.origin == origin, c.live.is_(True))
    return {uid: (namespace, name) for uid, namespace, name in unit.conn.execute(query)}


def jobs_placed_before(
    unit: Unit, instant: dt.datetime, states: Sequence[str]
) -> list[dict[str, Any]]:
    """Workloads in the given states that were placed before `instant`, at most 1,000."""
    c = workloads.c
    query = (
        select(c.uid, c.epoch, c.cluster, c.reason, c.message, c.set_aside)
        .where(c.state.in_(states), c.placed_at < instant)
        .limit(1000)
    )
    return [dict(row) for row in unit.conn.execute(query).mappings()]

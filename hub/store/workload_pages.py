"""Pages of whole workloads, of any kind: what Kueue-shaped lists are made of."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import literal, select, tuple_

from hub.store.jobs import Position
from hub.store.lookup import Lookup
from hub.store.tables import workloads
from hub.store.transaction import Transaction

_STATED: Final = (
    "uid",
    "kind",
    "namespace",
    "name",
    "queue",
    "cluster_queue",
    "state",
    "reason",
    "cluster",
    "epoch",
)
_STATES: Final = Lookup(
    lambda among: select(*(workloads.c[name] for name in _STATED)).where(among(workloads.c.uid))
)

_REPORTED: Final = (*_STATED, "parallelism", "ready", "pods_ready_at")
_BARE: Final = Lookup(
    lambda among: select(*(workloads.c[name] for name in _REPORTED)).where(
        among(workloads.c.namespace, workloads.c.name),
        workloads.c.kind == "Workload",
        workloads.c.live.is_(True),
    )
)


def page(
    tx: Transaction,
    filters: Mapping[str, str],
    states: Collection[str],
    queues: Collection[tuple[str, str]] | None,
    after: Position | None,
    limit: int,
) -> list[dict[str, Any]]:
    """Workloads that occupy their names, newest first, at most `limit`, all columns.

    `filters`: namespace, queue, state, cluster, exact; `states`: any of these, if there are any;
    `queues`: any of these LocalQueues (namespace, name).
    """
    c = workloads.c
    query = select(workloads).where(c.live.is_not(None))
    for name in ("namespace", "queue", "state", "cluster"):
        if filters.get(name):
            query = query.where(c[name] == filters[name])
    if states:
        query = query.where(c.state.in_(sorted(states)))
    if queues is not None:
        query = query.where(tuple_(c.namespace, c.queue).in_(sorted(queues)))
    if after is not None:
        bound = (literal(after[0], c.created_at.type), literal(after[1], c.uid.type))
        query = query.where(tuple_(c.created_at, c.uid) < tuple_(*bound))
    query = query.order_by(c.created_at.desc(), c.uid.desc()).limit(limit)
    return [dict(row) for row in tx.conn.execute(query).mappings()]


def states(tx: Transaction, uids: Collection[str]) -> list[dict[str, Any]]:
    """How workloads of whatever state stand, by uid: the narrow columns; absent ones are left out."""
    return [dict(zip(_STATED, row, strict=True)) for row in _STATES.rows(tx.conn, uids)]


def bare_by_name(
    tx: Transaction, names: Collection[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Any]]:
    """How bare Workloads stand that occupy the given (namespace, name)s, with their pod counts."""
    rows = (dict(zip(_REPORTED, row, strict=True)) for row in _BARE.rows(tx.conn, names))
    return {(row["namespace"], row["name"]): row for row in rows}


def named(tx: Transaction, namespace: str, name: str) -> list[dict[str, Any]]:
    """Workloads of whatever kind that occupy a name."""
    c = workloads.c
    query = select(workloads).where(c.namespace == namespace, c.name == name, c.live.is_not(None))
    return [dict(row) for row in tx.conn.execute(query).mappings()]

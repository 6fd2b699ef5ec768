"""Workloads as seen from the clusters they are on: counts, and which of them a rule concerns."""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, bindparam, case, exists, func, null, or_, select, update

from hub.domain.workloads.states import State, WithdrawTo
from hub.store.bulk import Bulk
from hub.store.lookup import Lookup
from hub.store.records.workloads import (
    CountsRow,
    JobOnCluster,
    LingeringJob,
    LostJob,
    UnseenJob,
)
from hub.store.records.works import LastObserved
from hub.store.tables import workloads, works
from hub.store.transaction import Transaction
from hub.store.workloads import BARE
from hub.store.works import chunks
from shared.documents import JsonView

_NOT_SEEN = (State.OFFERED.value, State.UNKNOWN.value)
_COUNTED = ("succeeded", "failed", "active", "ready", "reason", "message")
_MINE = (workloads.c.uid == bindparam("b_uid"), workloads.c.epoch == bindparam("b_epoch"))
_COUNTS: dict[str, ColumnElement[Any]] = {name: bindparam(f"b_{name}") for name in _COUNTED}
_NOW = bindparam("b_now", type_=workloads.c.pods_ready_at.type)
_READY_AT = workloads.c.pods_ready_at
_SET_ASIDE = Lookup(
    lambda among: select(workloads.c.uid, workloads.c.set_aside).where(
        workloads.c.live.is_not(None),
        workloads.c.set_aside.is_not(None),
        among(workloads.c.namespace),
    )
)
_COUNT = {
    None: Bulk(update(workloads).where(*_MINE).values(_COUNTS)),
    True: Bulk(
        update(workloads)
        .where(*_MINE)
        .values(
            _COUNTS | {"pods_ready_at": func.coalesce(_READY_AT, _NOW), "pods_lost_at": null()}
        )
    ),
    False: Bulk(
        update(workloads)
        .where(*_MINE)
        .values(_COUNTS | {"pods_lost_at": case((_READY_AT.is_(None), null()), else_=_NOW)})
    ),
}


def count(tx: Transaction, rows: Sequence[CountsRow]) -> None:
    """Set counts, reason and message of workloads whose state stays: uid, epoch, succeeded …

    `all_ready`, where that has changed: since now all its pods are ready, or no longer are.
    """
    if not rows:
        return
    names = ("uid", "epoch", *_COUNTED)
    for change, statement in _COUNT.items():
        alike = cast("list[JsonView]", [row for row in rows if row.get("all_ready") is change])
        now = {} if change is None else {"b_now": tx.now}
        statement.run(tx.conn, [{f"b_{name}": row[name] for name in names} | now for row in alike])
    tx.touch("workloads", *(row["uid"] for row in rows))


def jobs_on(tx: Transaction, clusters: Iterable[str], states: Sequence[str]) -> list[JobOnCluster]:
    """Workloads on the given clusters in the given states."""
    c = workloads.c
    query = select(c.uid, c.epoch, c.cluster, c.reason, c.annotations).where(c.state.in_(states))
    return [
        JobOnCluster._make(row)
        for chunk in chunks(clusters)
        for row in tx.conn.execute(query.where(workloads.c.cluster.in_(chunk)))
    ]


def namespaces_on(tx: Transaction, cluster: str, states: Sequence[str]) -> dict[str, int]:
    """The number of Jobs in the given states in a cluster, by namespace."""
    c = workloads.c
    query = select(c.namespace, func.count()).where(
        c.cluster == cluster, c.state.in_(states), c.kind != BARE
    )
    return {row[0]: row[1] for row in tx.conn.execute(query.group_by(c.namespace))}


def set_aside_in(tx: Transaction, namespaces: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """Clusters that live Jobs of these namespaces avoid, by uid; of those that avoid any."""
    return {uid: told for uid, told in _SET_ASIDE.rows(tx.conn, namespaces) if told}


def offered_unseen(
    tx: Transaction, clusters: Iterable[str], most: int | None = None
) -> list[UnseenJob]:
    """Workloads that the given clusters were offered and that were never seen there, the earliest first.

    At most `most`; None: all.
    """
    c, held = workloads.c, works.c
    query = (
        select(c.uid, c.epoch, c.cluster, c.set_aside)
        .join(works, (held.cluster == c.cluster) & (held.uid == c.uid) & (held.epoch == c.epoch))
        .where(c.state.in_(_NOT_SEEN), held.seen.is_(False))
        .order_by(c.placed_at, c.uid)
        .limit(most)
    )
    found = [
        UnseenJob._make(row)
        for chunk in chunks(clusters)
        for row in tx.conn.execute(query.where(c.cluster.in_(chunk)))
    ]
    return found[:most]


def lost_jobs(tx: Transaction, clusters: Iterable[str]) -> list[LostJob]:
    """Workloads that the given clusters may run, and of which no other cluster may run anything.

    Unknown ones, and those that were to come back to their queue when the cluster fell silent.
    """
    c, other = workloads.c, works.alias()
    back = (c.state == State.WITHDRAWING.value) & (c.withdraw_to == WithdrawTo.PENDING.value)
    query = select(c.uid, c.epoch, c.cluster, c.annotations, c.set_aside).where(
        or_(c.state == State.UNKNOWN.value, back),
        ~exists().where(other.c.uid == c.uid, other.c.cluster != c.cluster),
    )
    return [
        LostJob._make(row)
        for chunk in chunks(clusters)
        for row in tx.conn.execute(query.where(c.cluster.in_(chunk)))
    ]


def left_behind(tx: Transaction, cluster: str) -> int:
    """The number of jobs with an earlier epoch in a cluster that is still to withdraw it."""
    c, held = workloads.c, works.c
    query = (
        select(func.count())
        .select_from(works.join(workloads, held.uid == c.uid))
        .where(held.cluster == cluster, held.action == "Withdraw", c.cluster != cluster)
    )
    return int(tx.conn.execute(query).scalar_one())


def last_observed(
    tx: Transaction, clusters: Iterable[str], states: Collection[str]
) -> list[LastObserved]:
    """Read the last observation of each workload in these states on the given clusters."""
    c, held = workloads.c, works.c
    query = (
        select(
            held.cluster, held.uid, held.epoch, held.observed_generation, held.phase,
            held.reason, held.message, held.available, held.observed, held.drift,
        )
        .join(works, (held.cluster == c.cluster) & (held.uid == c.uid) & (held.epoch == c.epoch))
        .where(c.state.in_(states), held.observed.is_not(None))
    )  # fmt: skip
    return [
        LastObserved._make(row)
        for chunk in chunks(clusters)
        for row in tx.conn.execute(query.where(c.cluster.in_(chunk)))
    ]


def live_of(tx: Transaction, origin: str, kind: str) -> dict[str, tuple[str, str]]:
    """Workloads of one origin and kind that hold their names: uid → (namespace, name)."""
    c = workloads.c
    query = select(c.uid, c.namespace, c.name).where(
        c.origin == origin, c.kind == kind, c.live.is_(True)
    )
    return {uid: (namespace, name) for uid, namespace, name in tx.conn.execute(query)}


def jobs_placed_before(
    tx: Transaction,
    instant: dt.datetime,
    states: Sequence[str],
    *,
    but_on: Collection[str] = (),
    awaiting_nodes: bool = False,
) -> list[LingeringJob]:
    """Workloads in the given states that were placed before `instant`, at most 1,000; none `but_on` these.

    One that has run, and was suspended by its member, waits since then. Of those whose cluster had the
    room, or of those for which it must add nodes first.
    """
    c = workloads.c
    suspended_at = case((c.started_at.is_not(None), c.pods_lost_at))
    query = (
        select(c.uid, c.epoch, c.cluster, c.reason, c.message, c.set_aside)
        .where(c.state.in_(states), func.coalesce(suspended_at, c.placed_at) < instant)
        .where(c.new_nodes.is_not(None) if awaiting_nodes else c.new_nodes.is_(None))
        .where(c.cluster.not_in(sorted(but_on)))
        .limit(1000)
    )
    return [LingeringJob._make(row) for row in tx.conn.execute(query)]

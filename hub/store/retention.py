"""Deletes expired rows: finished jobs, explanations, evictions; a few thousand rows at a time."""

import datetime as dt

from sqlalchemy import ColumnElement, delete, select, update

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import TERMINAL, State
from hub.store.dialect import CHUNK
from hub.store.tables import (
    dependencies,
    events,
    explanations,
    manifests,
    objects,
    workloads,
    works,
)
from hub.store.transaction import Transaction
from shared.groups import PLACEMENT
from shared.kinds.eviction_v1 import EVICTIONS

_ENDED = sorted(state.value for state in TERMINAL)


def _is_there() -> ColumnElement[bool]:
    """A Deactivated Job of the hub cluster, which has it still.

    It is suspended there and has not ended: forgotten here, it would be taken for a new Job, and run.
    """
    c = workloads.c
    deactivated = c.state == State.DEACTIVATED.value
    return deactivated & (c.origin == Origin.HUB_CLUSTER) & c.live.is_(True)


def names_outlived(tx: Transaction, limit: int) -> list[str]:
    """Finished jobs that still have their names though their ttlSecondsAfterFinished is over."""
    c = workloads.c
    ended = c.finished_at.is_not(None) & c.live.is_(True) & c.state.in_(_ENDED) & ~_is_there()
    found: list[str] = []
    for ttl_s in tx.conn.execute(select(c.ttl_s).distinct().where(ended)).scalars().all():
        if ttl_s is None:
            continue
        due = tx.now - dt.timedelta(seconds=ttl_s)
        query = select(c.uid).where(ended, c.ttl_s == ttl_s, c.finished_at <= due)
        found += tx.conn.execute(query.limit(limit - len(found))).scalars()
        if len(found) >= limit:
            break
    return found


def jobs_ended_before(tx: Transaction, before: dt.datetime, limit: int) -> list[str]:
    """Jobs whose record has been kept long enough and of which no member holds anything.

    The end of a job is kept for as long as a dependent is undecided (docs/explain/exactly-once.md, rule 20).
    """
    c, d = workloads.c, dependencies.c
    held = select(works.c.uid).where(works.c.uid == c.uid).exists()
    awaited = select(d.uid).where(d.on_uid == c.uid, d.state == "Waiting").exists()
    return list(
        tx.conn.execute(
            select(c.uid)
            .where(c.finished_at < before, c.state.in_(_ENDED), ~held, ~awaited, ~_is_there())
            .order_by(c.finished_at)
            .limit(limit)
        ).scalars()
    )


def jobs_held_too_long(tx: Transaction, before: dt.datetime, limit: int) -> list[str]:
    """Jobs whose record has been kept long enough, that a member still holds a copy of."""
    c = workloads.c
    return list(
        tx.conn.execute(
            select(c.uid)
            .join(works, works.c.uid == c.uid)
            .where(c.finished_at < before, c.state.in_(_ENDED), works.c.action == "Keep")
            .order_by(c.finished_at)
            .limit(limit)
        ).scalars()
    )


def evictions_before(tx: Transaction, before: dt.datetime, limit: int) -> list[str]:
    """Evictions that were made before then, and not on the hub cluster."""
    c = objects.c
    query = select(c.uid).where(
        c.api_group == PLACEMENT,
        c.kind.in_(EVICTIONS),
        c.origin != Origin.HUB_CLUSTER,
        c.created_at < before,
    )
    return list(tx.conn.execute(query.order_by(c.created_at).limit(limit)).scalars())


def give_names_back(tx: Transaction, uids: list[str]) -> None:
    """Finished jobs no longer occupy their names; their records stay."""
    for start in range(0, len(uids), CHUNK):
        tx.conn.execute(
            update(workloads)
            .where(workloads.c.uid.in_(uids[start : start + CHUNK]))
            .values(live=None)
        )
    tx.touch("workloads", *uids)


def remove_jobs(tx: Transaction, uids: list[str]) -> None:
    """Forget jobs: rows, manifests, events."""
    for start in range(0, len(uids), CHUNK):
        few = uids[start : start + CHUNK]
        tx.conn.execute(delete(manifests).where(manifests.c.uid.in_(few)))
        tx.conn.execute(delete(dependencies).where(dependencies.c.uid.in_(few)))
        tx.conn.execute(delete(events).where(events.c.uid.in_(few)))
        tx.conn.execute(delete(workloads).where(workloads.c.uid.in_(few)))
    tx.touch("workloads", *uids)


def trim_explanations(tx: Transaction, before: dt.datetime) -> int:
    """Delete explanations not renewed since `before`; how many."""
    return tx.conn.execute(delete(explanations).where(explanations.c.at < before)).rowcount

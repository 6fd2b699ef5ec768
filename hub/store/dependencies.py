"""Dependencies between jobs, bound to uids, found by the awaited job.

A decision about one is made once. The table enters the feed as `DEPENDENCIES`, by the uid of the job
that waits.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Select, and_, bindparam, case, false, func, select, type_coerce, update

from hub.domain.workloads.chains import LinkState
from hub.store.bulk import Bulk
from hub.store.columns import EndConditionColumn, LinkColumn, StateColumn
from hub.store.lookup import Among, Lookup
from hub.store.records.dependencies import Awaited, ChainLink, Dependency, Neighbour, Unbound
from hub.store.tables import dependencies, workloads
from hub.store.transaction import Transaction
from hub.store.workloads import BARE

DEPENDENCIES: Final = "dependencies"  # in the feed
_OPEN: Final = dependencies.c.state == LinkState.WAITING.value
_ADD: Final = Bulk.insert(dependencies)
_D: Final = dependencies.c
_WANTED: Final = type_coerce(_D.wanted, EndConditionColumn)
_STATE: Final = type_coerce(_D.state, LinkColumn)
_SELECT: Final = select(
    _D.uid, _D.on_name, _D.namespace, _WANTED, _D.on_uid, _STATE, _D.ended, _D.until, _D.decided_at
)  # the fields of a `Dependency`
_W: Final = workloads.c
_SINCE: Final = func.coalesce(_W.finished_at, _W.started_at, _W.placed_at, _W.queued_at)
_LINK: Final = (
    *(_WANTED, _STATE, _D.ended, type_coerce(_W.state, StateColumn)),
    *(_W.queue, _W.owner, _W.reason, _W.cluster, _SINCE),
)  # the fields of a `Neighbour` after uid and name
_OF: Final = Lookup(lambda among: _SELECT.where(among(dependencies.c.uid)))
_NAMED: Final = Lookup(
    lambda among: _SELECT.where(
        _OPEN,
        dependencies.c.on_uid == "",
        among(dependencies.c.namespace, dependencies.c.on_name),
    )
)
_ON: Final = Lookup(
    lambda among: _SELECT.where(_OPEN, among(dependencies.c.on_uid)).limit(bindparam("most"))
)
_STATES: Final = Lookup(
    lambda among: select(
        workloads.c.uid, type_coerce(workloads.c.state, StateColumn), workloads.c.live
    ).where(among(workloads.c.uid))
)


def _walk(among: Among) -> Select[tuple[str, str, str, str]]:
    """Dependencies of jobs, and their dependencies, to the end: each link once."""
    d, w = dependencies.c, workloads.c
    whom = case((d.on_uid != "", d.on_uid), else_=func.coalesce(w.uid, ""))
    holds = and_(
        d.on_uid == "",
        w.namespace == d.namespace,
        w.name == d.on_name,
        w.kind != BARE,
        w.live.is_(True),
    )
    link = select(d.uid, d.namespace, d.on_name, whom.label("on_uid"))
    first = link.select_from(dependencies.outerjoin(workloads, holds)).where(_OPEN, among(d.uid))
    walk = first.cte("walk", recursive=True)
    onward = walk.join(dependencies, d.uid == walk.c.on_uid).outerjoin(workloads, holds)
    walk = walk.union(link.select_from(onward).where(_OPEN))
    return select(*walk.c).limit(bindparam("most"))


_WALK: Final = Lookup(_walk)
_DECIDE: Final = Bulk(
    update(dependencies)
    .where(dependencies.c.uid == bindparam("b_uid"), dependencies.c.on_name == bindparam("b_name"))
    .values(
        state=bindparam("b_state"),
        ended=bindparam("b_ended"),
        decided_at=bindparam("b_at", type_=dependencies.c.decided_at.type),
    )
)
_BIND: Final = Bulk(
    update(dependencies)
    .where(dependencies.c.uid == bindparam("b_uid"), dependencies.c.on_name == bindparam("b_name"))
    .values(on_uid=bindparam("b_on_uid"), until=None)
)


def add(tx: Transaction, rows: Sequence[Dependency]) -> None:
    """Keep new ones."""
    if rows:
        _ADD.run_records(tx.conn, rows)
        tx.touch(DEPENDENCIES, *{row.uid for row in rows})


def decide(tx: Transaction, rows: Sequence[Dependency]) -> None:
    """Write how these have been decided: `state` and `ended`."""
    if not rows:
        return
    _DECIDE.run(
        tx.conn,
        [
            {
                "b_uid": row.uid,
                "b_name": row.on_name,
                "b_state": row.state.value,
                "b_ended": row.ended,
                "b_at": tx.now,
            }
            for row in rows
        ],
    )
    tx.touch(DEPENDENCIES, *{row.uid for row in rows})


def bind(tx: Transaction, rows: Sequence[Unbound]) -> None:
    """Bind awaited names to their present holders."""
    if rows:
        _BIND.run(
            tx.conn,
            [{"b_uid": row.uid, "b_name": row.on_name, "b_on_uid": row.on_uid} for row in rows],
        )
        tx.touch(DEPENDENCIES, *{row.uid for row in rows})


def of_jobs(tx: Transaction, uids: Iterable[str]) -> dict[str, list[Dependency]]:
    """By uid of the job that waits, all of its dependencies, by name."""
    found: dict[str, list[Dependency]] = {}
    for row in map(Dependency._make, _OF.rows(tx.conn, uids)):
        found.setdefault(row.uid, []).append(row)
    return {uid: sorted(rows, key=lambda row: row.on_name) for uid, rows in found.items()}


def chains_of(tx: Transaction, uids: Iterable[str], limit: int) -> list[ChainLink]:
    """The dependencies of these jobs, and theirs, and so on: at most `limit` links, each once."""
    return [ChainLink._make(row) for row in _WALK.rows(tx.conn, uids, most=limit)]


def waiting_for_names(tx: Transaction, names: Iterable[tuple[str, str]]) -> list[Dependency]:
    """Those that wait for a job of one of these (namespace, name)s."""
    return [Dependency._make(row) for row in _NAMED.rows(tx.conn, names)]


def awaited(tx: Transaction) -> frozenset[str]:
    """The awaited jobs, by uid; "" among them if a name is awaited."""
    query = select(dependencies.c.on_uid).where(_OPEN).distinct()
    return frozenset(tx.conn.execute(query).scalars())


def waits_for_names(tx: Transaction) -> bool:
    """True if a name without a job is awaited."""
    query = select(dependencies.c.uid).where(_OPEN, dependencies.c.on_uid == "").limit(1)
    return tx.conn.execute(query).scalar() is not None


def awaited_by(tx: Transaction, uids: Iterable[str]) -> frozenset[str]:
    """The dependencies of these jobs."""
    rows = map(Dependency._make, _OF.rows(tx.conn, uids))
    return frozenset(row.on_uid for row in rows if row.state is LinkState.WAITING)


def states(tx: Transaction, uids: Iterable[str]) -> dict[str, Awaited]:
    """The states of jobs, by uid; absent ones are left out."""
    return {row[0]: Awaited._make(row) for row in _STATES.rows(tx.conn, uids)}


def waiting_on(tx: Transaction, uids: Iterable[str], limit: int) -> list[Dependency]:
    """Some of those that wait for one of these jobs: at most `limit`."""
    return [Dependency._make(row) for row in _ON.rows(tx.conn, uids, most=limit)]


def come(tx: Transaction, limit: int, late: dt.datetime | None) -> list[Unbound]:
    """Awaited names that a Job has now, or whose time is over.

    `late`: those awaited since before it are given up; None: for none.
    """
    d, w = dependencies.c, workloads.c
    holds = and_(w.namespace == d.namespace, w.name == d.on_name, w.kind != BARE, w.live.is_(True))
    over = false() if late is None else d.until <= min(late, tx.now)
    query = (
        select(d.uid, d.on_name, d.namespace, d.until, func.coalesce(w.uid, ""))
        .select_from(dependencies.outerjoin(workloads, holds))
        .where(_OPEN, d.on_uid == "", w.uid.is_not(None) | over)
        .limit(limit)
    )
    return [Unbound._make(row) for row in tx.conn.execute(query)]


def before(tx: Transaction, uid: str) -> list[Neighbour]:
    """The dependencies of a job, by name."""
    query = (
        select(_D.on_uid, _D.on_name, *_LINK)
        .select_from(dependencies.outerjoin(workloads, _W.uid == _D.on_uid))
        .where(_D.uid == uid)
        .order_by(_D.on_name)
    )
    return [Neighbour._make(row) for row in tx.conn.execute(query)]


def after(tx: Transaction, uid: str, limit: int) -> list[Neighbour]:
    """The dependents of a job: at most `limit` of them, by uid."""
    query = (
        select(_D.uid, _W.name, *_LINK)
        .select_from(dependencies.join(workloads, _W.uid == _D.uid))
        .where(_D.on_uid == uid)
        .order_by(_D.uid)
        .limit(limit)
    )
    return [Neighbour._make(row) for row in tx.conn.execute(query)]

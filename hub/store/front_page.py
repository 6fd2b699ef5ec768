"""The live page's jobs: a page of them, those that need attention first.

Everything is bounded by `limit`; decisions, the one wide column, are read for the page alone.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, func, or_, select

from hub.domain.access import UNKNOWN
from hub.domain.workloads.states import CHARGED, TERMINAL
from hub.store import scoping
from hub.store.records.lists import JobOnPage
from hub.store.tables import workloads
from hub.store.transaction import Transaction
from shared.documents import Json

_SHOWN: Final = tuple(workloads.c[name] for name in JobOnPage._fields if name != "scores")
_CHARGED: Final = sorted(str(state) for state in CHARGED)


@dataclass(frozen=True, slots=True)
class JobsPlace:
    """Filters by cluster and owner. "": any cluster, any owner. `owner` unknown: jobs without a known
    owner.

    `any_queue`: the name of their LocalQueue, or of the ClusterQueue that they are charged to.
    """

    cluster: str = ""
    cluster_queue: str = ""
    namespace: str = ""
    queue: str = ""
    any_queue: str = ""
    owner: str = ""


ANYWHERE: Final = JobsPlace()


def holding(
    tx: Transaction, place: JobsPlace, limit: int, but: Collection[str] = ()
) -> list[JobOnPage]:
    """Jobs that are charged there, as far as they may be seen; the latest first. `but`: of no such state."""
    c = workloads.c
    states = [state for state in _CHARGED if state not in but]
    query = _shown().where(c.state.in_(states), *scoping.of_jobs(tx), *_at(place))
    query = query.order_by(c.created_at.desc(), c.uid.desc()).limit(limit)
    return [JobOnPage(*row) for row in tx.conn.execute(query)]


def unfinished(
    tx: Transaction,
    states: Collection[str],
    text: str,
    offset: int,
    limit: int,
    place: JobsPlace = ANYWHERE,
) -> list[JobOnPage]:
    """Jobs that have not ended, oldest first; in one of `states`, if any are given."""
    c = workloads.c
    query = _shown().where(*_unfinished(tx, states, text, place)).order_by(c.created_at, c.uid)
    return _rows(tx, query, offset, limit)


def count_unfinished(
    tx: Transaction, text: str, place: JobsPlace = ANYWHERE, states: Collection[str] = ()
) -> int:
    """The number of jobs that `unfinished` would give, limit aside."""
    query = (
        select(func.count()).select_from(workloads).where(*_unfinished(tx, states, text, place))
    )
    return int(tx.conn.execute(query).scalar_one())


def ended(
    tx: Transaction,
    states: Collection[str],
    text: str,
    offset: int,
    limit: int,
    place: JobsPlace = ANYWHERE,
) -> list[JobOnPage]:
    """Jobs that have ended, the latest first; in one of `states`, if any are given."""
    c = workloads.c
    query = _shown().where(c.finished_at.is_not(None), *_selected(tx, states, text, place))
    return _rows(tx, query.order_by(c.finished_at.desc(), c.uid), offset, limit)


def _shown() -> Select[Any]:
    return select(*_SHOWN)


def _unfinished(
    tx: Transaction, states: Collection[str], text: str, place: JobsPlace
) -> list[ColumnElement[bool]]:
    c = workloads.c
    return [
        c.finished_at.is_(None),
        c.state.not_in(sorted(TERMINAL)),
        *_selected(tx, states, text, place),
    ]


def _selected(
    tx: Transaction, states: Collection[str], text: str, place: JobsPlace
) -> list[ColumnElement[bool]]:
    """Not deleted (or still in a cluster), visible to the caller, present, and `text` is in a name that
    people know the job by.
    """
    c = workloads.c
    wanted = [c.deleted_at.is_(None) | c.live.is_not(None), *scoping.of_jobs(tx), *_at(place)]
    if states:
        wanted.append(c.state.in_(sorted(states)))
    if text:
        places = (c.namespace + "/" + c.name, c.queue, c.cluster)
        wanted.append(or_(*(each.contains(text, autoescape=True) for each in places)))
    return wanted


def _at(place: JobsPlace) -> list[ColumnElement[bool]]:
    c = workloads.c
    named = {
        c.cluster: place.cluster,
        c.cluster_queue: place.cluster_queue,
        c.namespace: place.namespace,
        c.queue: place.queue,
    }
    wanted = [column == name for column, name in named.items() if name]
    if place.any_queue:
        wanted.append(or_(c.queue == place.any_queue, c.cluster_queue == place.any_queue))
    if place.owner:
        wanted.append(c.owner == ("" if place.owner == UNKNOWN else place.owner))
    return wanted


def _rows(tx: Transaction, query: Select[Any], offset: int, limit: int) -> list[JobOnPage]:
    found = [JobOnPage(*row) for row in tx.conn.execute(query.offset(offset).limit(limit))]
    decided = _decisions(tx, [row.uid for row in found])
    return [row._replace(scores=decided.get(row.uid)) for row in found]


def _decisions(tx: Transaction, uids: Collection[str]) -> dict[str, Json | None]:
    """The decision for each; one that can not be decoded is left out, and no other."""
    c = workloads.c
    try:
        query = select(c.uid, c.scores).where(c.uid.in_(uids))
        return {row.uid: row.scores for row in tx.conn.execute(query)}
    except ValueError:
        if len(uids) <= 1:
            return {}
    return {uid: each for one in uids for uid, each in _decisions(tx, [one]).items()}

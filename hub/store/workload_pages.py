"""Pages of whole workloads, of any kind: what Kueue-shaped lists are made of."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, func, literal, select, tuple_, type_coerce

from hub.store import scoping, workloads as stored
from hub.store.columns import StateColumn
from hub.store.dialect import Query
from hub.store.jobs import BoundedPage
from hub.store.lookup import Lookup
from hub.store.records.workloads import BareProgress, Workload, WorkloadProgress
from hub.store.spans import MOST_READ, ListFilters, Position, by_no_index, span_of
from hub.store.tables import manifests, shapes, workloads
from hub.store.transaction import Transaction

_STATES: Final = Lookup(
    lambda among: select(*_columns(WorkloadProgress._fields)).where(among(workloads.c.uid))
)
_BARE: Final = Lookup(
    lambda among: select(*_columns(BareProgress._fields)).where(
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
    most: int = MOST_READ,
) -> list[Workload]:
    """Workloads that occupy their names, newest first, at most `limit`, all columns.

    `filters`: namespace, queue, state, cluster, exact; `states`: any of these, if there are any;
    `queues`: any of these LocalQueues (namespace, name).
    """
    query, _ = _page(tx, stored.select_whole(), filters, states, queues, after, limit, most)
    return stored.read(tx, query)


def sizes(
    tx: Transaction,
    filters: Mapping[str, str],
    states: Collection[str],
    queues: Collection[tuple[str, str]] | None,
    after: Position | None,
    limit: int,
    most: int = MOST_READ,
) -> BoundedPage[int]:
    """Bytes that are stored of each workload which `page` would read, with its manifest and its pod sets."""
    c = workloads.c
    heavy = (c.labels, c.annotations, c.scores, c.admission, c.nomination, c.checks)
    parts: list[ColumnElement[Any]] = [func.length(column) for column in heavy]
    sent = select(func.max(func.length(manifests.c.manifest))).where(manifests.c.uid == c.uid)
    shape = select(func.length(shapes.c.pod_sets)).where(shapes.c.hash == c.shape)
    parts += [each.correlate(workloads).scalar_subquery() for each in (sent, shape)]
    size = sum((func.coalesce(part, 0) for part in parts), literal(0))
    query, until = _page(tx, select(size), filters, states, queues, after, limit, most)
    rows = [int(each) for each in tx.conn.execute(query).scalars()]
    return BoundedPage(rows, until if len(rows) < limit else None)


def _page(
    tx: Transaction,
    query: Query,
    filters: Mapping[str, str],
    states: Collection[str],
    queues: Collection[tuple[str, str]] | None,
    after: Position | None,
    limit: int,
    most: int = MOST_READ,
) -> tuple[Query, Position | None]:
    c = workloads.c
    names = ("namespace", "queue", "state", "cluster")
    values = {name: filters[name] for name in names if filters.get(name)}
    span = span_of(tx, ListFilters(values, states=states), after, most)
    query = query.where(c.live.is_not(None), *span.where)
    if queues is not None:
        entrance = tuple_(by_no_index("namespace"), by_no_index("queue"))
        query = query.where(entrance.in_(sorted(queues)))
    return query.order_by(c.created_at.desc(), c.uid.desc()).limit(limit), span.until


def states(tx: Transaction, uids: Collection[str]) -> list[WorkloadProgress]:
    """The states of workloads in any state, by uid: the narrow columns; absent ones are left out."""
    rows = [WorkloadProgress._make(row) for row in _STATES.rows(tx.conn, uids)]
    if tx.scope.is_everything:
        return rows
    shown = select(workloads.c.uid).where(
        workloads.c.uid.in_([row.uid for row in rows]), *scoping.of_jobs(tx)
    )
    seen = set(tx.conn.execute(shown).scalars())
    return [row for row in rows if row.uid in seen]


def bare_by_name(
    tx: Transaction, names: Collection[tuple[str, str]]
) -> dict[tuple[str, str], BareProgress]:
    """The states of bare Workloads that occupy the given (namespace, name)s, with their pod counts."""
    rows = map(BareProgress._make, _BARE.rows(tx.conn, names))
    return {(row.namespace, row.name): row for row in rows}


def named(tx: Transaction, namespace: str, name: str) -> list[Workload]:
    """Workloads of whatever kind that occupy a name."""
    c = workloads.c
    return stored.read(
        tx,
        stored.select_whole().where(
            c.namespace == namespace, c.name == name, c.live.is_not(None), *scoping.of_jobs(tx)
        ),
    )


def _columns(names: Iterable[str]) -> Iterator[ColumnElement[Any]]:
    for name in names:
        column = workloads.c[name]
        yield type_coerce(column, StateColumn) if name == "state" else column

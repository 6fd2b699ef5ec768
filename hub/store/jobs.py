"""Lists and counts of jobs, as people ask for them: keyset pages over the narrow table."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, case, func, select, type_coerce

from hub.domain.access import UNKNOWN
from hub.domain.workloads.states import CHARGED, TERMINAL, State
from hub.store import manifests, workloads as workload_rows
from hub.store.columns import StateColumn
from hub.store.dialect import CHUNK, Query
from hub.store.lookup import Prepared
from hub.store.records.lists import ListedJob
from hub.store.spans import MOST_READ, ListFilters, Position, span_of
from hub.store.tables import workloads
from hub.store.transaction import Transaction
from shared.documents import Json

_LISTED: Final = tuple(
    type_coerce(workloads.c[name], StateColumn) if name == "state" else workloads.c[name]
    for name in ListedJob._fields
)
_CHARGED: Final = sorted(state.value for state in CHARGED)
_ON_CLUSTER: Final = workloads.c.state.in_(_CHARGED), workloads.c.cluster != ""
_BY_CLUSTER: Final = Prepared(
    select(workloads.c.cluster, func.count()).where(*_ON_CLUSTER).group_by(workloads.c.cluster)
)
_BY_SHAPE: Final = Prepared(
    select(workloads.c.cluster, workloads.c.shape, func.count())
    .where(*_ON_CLUSTER)
    .group_by(workloads.c.cluster, workloads.c.shape)
)
SMALL_LABELS: Final = 4096  # bytes of labels that are read for a page of jobs at once
T = TypeVar("T")


class JobLabels(NamedTuple):
    """The labels of a job, for selectors. `labels` None: they are large, and read one by one."""

    uid: str
    created_at: dt.datetime
    size: int  # bytes of the labels as they are stored
    labels: Mapping[str, str] | None


class BoundedPage(NamedTuple, Generic[T]):
    """Rows of a list. `until`: more rows may follow this position, though there are fewer than the limit."""

    rows: list[T]
    until: Position | None


def page(
    tx: Transaction,
    filters: Mapping[str, str],
    after: Position | None,
    limit: int,
    most: int = MOST_READ,
) -> BoundedPage[ListedJob]:
    """Jobs that are not deleted, newest first: the narrow columns, at most `limit`, of `most` looked at.

    `filters`: namespace, queue, state, cluster, owner, exact (owner `unknown`: jobs without a known
    owner); name, a prefix.
    """
    query, until = _page(tx, _LISTED, filters, after, limit, most)
    rows = [ListedJob._make(row) for row in tx.conn.execute(query)]
    return BoundedPage(rows, until if len(rows) < limit else None)


def page_of_labels(
    tx: Transaction,
    filters: Mapping[str, str],
    after: Position | None,
    limit: int,
    most: int = MOST_READ,
) -> BoundedPage[JobLabels]:
    """The same jobs with their labels, for a selector to match. Large labels are left out: `labels_of`."""
    c = workloads.c
    size = func.length(c.labels)
    labels = type_coerce(case((size <= SMALL_LABELS, c.labels), else_=None), c.labels.type)
    query, until = _page(tx, (c.uid, c.created_at, size, labels), filters, after, limit, most)
    rows = [JobLabels._make(row) for row in tx.conn.execute(query)]
    return BoundedPage(rows, until if len(rows) < limit else None)


def labels_of(tx: Transaction, uid: str) -> Mapping[str, str]:
    """The labels of one job."""
    found = tx.conn.execute(select(workloads.c.labels).where(workloads.c.uid == uid)).scalar()
    return found or {}


def listed(tx: Transaction, uids: Sequence[str]) -> list[ListedJob]:
    """These jobs, newest first: the narrow columns."""
    found: list[ListedJob] = []
    for start in range(0, len(uids), CHUNK):
        query = select(*_LISTED).where(workloads.c.uid.in_(uids[start : start + CHUNK]))
        found += [ListedJob._make(row) for row in tx.conn.execute(query)]
    return sorted(found, key=lambda row: (row.created_at, row.uid), reverse=True)


def _page(
    tx: Transaction,
    columns: Sequence[ColumnElement[Any]],
    filters: Mapping[str, str],
    after: Position | None,
    limit: int,
    most: int,
) -> tuple[Query, Position | None]:
    c = workloads.c
    names = ("namespace", "queue", "state", "cluster", "owner")
    values = {name: _kept(name, filters[name]) for name in names if filters.get(name)}
    span = span_of(tx, ListFilters(values, filters.get("name", "")), after, most)
    query = select(*columns).where(_shown(), *span.where)
    return query.order_by(c.created_at.desc(), c.uid.desc()).limit(limit), span.until


def failed_since(tx: Transaction, since: dt.datetime, limit: int) -> list[tuple[str, str]]:
    """Jobs that have failed in a cluster since an instant, the newest first: uid and cluster."""
    c = workloads.c
    query = select(c.uid, c.cluster).where(
        c.finished_at > since, c.state == State.FAILED, c.cluster != ""
    )
    rows = tx.conn.execute(query.order_by(c.finished_at.desc()).limit(limit))
    return [(str(uid), str(cluster)) for uid, cluster in rows]


def count_by_cluster(tx: Transaction) -> dict[str, int]:
    """The number of jobs of which each cluster may hold pods."""
    return {cluster: int(count) for cluster, count in _BY_CLUSTER.rows(tx.conn)}


class Tenant(NamedTuple):
    """Jobs of one owner and LocalQueue in one namespace of a cluster, and how many they are."""

    namespace: str
    queue: str
    owner: str
    jobs: int


def tenants_in(tx: Transaction, cluster: str) -> list[Tenant]:
    """Owners and queues of the jobs whose pods a cluster may hold."""
    c = workloads.c
    columns = (c.namespace, c.queue, c.owner)
    rows = tx.conn.execute(
        select(*columns, func.count())
        .where(c.state.in_(_CHARGED), c.cluster == cluster)
        .group_by(*columns)
    )
    return [Tenant(*row) for row in rows]


class Charge(NamedTuple):
    """Workloads of one LocalQueue that are charged the same, and how many they are."""

    namespace: str
    queue: str
    cluster_queue: str
    state: str
    admission: Json | None
    number: int


def charges(tx: Transaction) -> list[Charge]:
    """Everything that is charged, equal charges counted together."""
    c = workloads.c
    columns = (c.namespace, c.queue, c.cluster_queue, c.state, c.admission)
    rows = tx.conn.execute(
        select(*columns, func.count()).where(c.state.in_(_CHARGED)).group_by(*columns)
    )
    return [Charge(*row) for row in rows]


def charged_to(tx: Transaction, queue: str) -> list[str]:
    """Uids of what is charged to one ClusterQueue."""
    c = workloads.c
    found = tx.conn.execute(
        select(c.uid).where(c.cluster_queue == queue, c.state.in_(_CHARGED))
    ).scalars()
    return list(found)


def of_other_priority(tx: Transaction, named: str, value: int, limit: int) -> list[str]:
    """Uids of Jobs of one WorkloadPriorityClass that may yet run, with another priority than `value`."""
    c = workloads.c
    query = select(c.uid).where(
        c.state.in_(_MAY_RUN),
        c.kind != workload_rows.BARE,
        c.priority_class == named,
        c.priority != value,
    )
    return list(tx.conn.execute(query.limit(limit)).scalars())


def reserved_by_cluster(tx: Transaction) -> dict[str, dict[str, int]]:
    """The total requests of each cluster's charged jobs, by resource; `pods` among them."""
    rows = _BY_SHAPE.rows(tx.conn)
    known = manifests.get_shapes(tx, {shape for _, shape, _ in rows})
    asked: dict[str, dict[str, int]] = {}
    for cluster, shape, count in rows:
        total = asked.setdefault(cluster, {})
        for pod_set in known.get(shape, ()):
            for name, amount in {**pod_set["requests"], "pods": 1}.items():
                total[name] = total.get(name, 0) + amount * pod_set["count"] * count
    return asked


def count_in_namespace(tx: Transaction, namespace: str) -> int:
    """The number of jobs of a namespace that occupy their names."""
    query = select(func.count()).where(
        workloads.c.namespace == namespace, workloads.c.live.is_(True)
    )
    return int(tx.conn.execute(query).scalar() or 0)


def _kept(name: str, asked: str) -> str:
    """The value in column `name` for the filter `asked`."""
    return "" if name == "owner" and asked == UNKNOWN else asked


# A deactivated one may be released.
_MAY_RUN = sorted(s.value for s in State if s not in TERMINAL or s == State.DEACTIVATED)


def _shown() -> ColumnElement[bool]:
    """A deleted job is shown until nothing of it is left in its cluster."""
    return workloads.c.deleted_at.is_(None) | workloads.c.live.is_not(None)

"""The scheduler's bulk reads and writes: workloads by the columns that decide, explanations.

Rows come back as tuples with JSON columns still as bytes: equal workloads have equal bytes, and the
index reads each distinct value once.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    LargeBinary,
    Select,
    String,
    and_,
    bindparam,
    case,
    or_,
    select,
    type_coerce,
)

from hub.domain.plan import CYCLES
from hub.domain.workloads.states import CHARGED, State
from hub.store.bulk import Bulk
from hub.store.columns import Utc
from hub.store.dialect import CHUNK, insert
from hub.store.lookup import Lookup, Prepared
from hub.store.records.objects import RuleObject
from hub.store.tables import clusters, explanations, objects, shapes, workloads
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView

_c = workloads.c


class SchedulingRow(NamedTuple):
    """A workload as far as scheduling is concerned. JSON columns are bytes; None is null."""

    uid: str
    namespace: str
    queue: str
    priority: int
    shape: str
    state: str
    reason: str
    message: str
    epoch: int
    placement: str
    cluster_queue: str
    cluster: str
    admission: bytes | None
    annotations: bytes | None
    set_aside: bytes | None
    parallelism: int
    completions: int | None
    succeeded: int
    queued_at: dt.datetime
    placed_at: dt.datetime | None = None
    nomination: bytes | None = None
    kind: str = "Job"
    checks: bytes | None = None
    reserved_at: dt.datetime | None = None
    requeue_at: dt.datetime | None = None
    pods_ready: int = 1
    generation: int = 0
    api_version: str = "batch/v1"


class WorkloadIdentity(NamedTuple):
    """What a workload is."""

    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str
    generation: int


# Are all pods of a charged workload ready? A bare one is, until its executor says that they no longer are.
_PODS_READY: Final = case(
    (_c.pods_lost_at.is_not(None), 0),
    (
        or_(
            _c.pods_ready_at.is_not(None), _c.kind == "Workload", _c.state == State.RESERVED.value
        ),
        1,
    ),
    else_=0,
)
_AS_BYTES: Final = frozenset({"admission", "annotations", "set_aside", "nomination", "checks"})
_COLUMNS: Final = tuple(
    type_coerce(_c[name], LargeBinary).label(name)
    if name in _AS_BYTES
    else _c[name]
    if name != "pods_ready"
    else _PODS_READY.label(name)
    for name in SchedulingRow._fields
)
_STANDING: Final = Lookup(lambda among: select(*_COLUMNS).where(among(_c.uid)))
_POD_SETS: Final = Lookup(
    lambda among: select(shapes.c.hash, shapes.c.pod_sets).where(among(shapes.c.hash))
)
_IDENTITIES: Final = Lookup(
    lambda among: select(*(_c[name] for name in WorkloadIdentity._fields)).where(among(_c.uid))
)
_HEARTBEATS: Final = Prepared(select(clusters.c.name, clusters.c.heartbeat_at))
_EXPLAIN: dict[str, Bulk] = {}  # by dialect


class Alike(NamedTuple):
    """The common values of waiting workloads; `message` is "" where a cycle said why they wait."""

    namespace: str
    queue: str
    priority: int
    shape: str
    placement: str
    annotations: bytes | None
    set_aside: bytes | None
    kind: str
    reason: str
    message: str
    api_version: str = "batch/v1"


# What is each workload's own, before what it shares. `queued_at` as the database's driver gives it, and
# whether the workload says more than that: then its row is wanted whole.
_OWN: Final = (
    "uid",
    "epoch",
    "parallelism",
    "completions",
    "generation",
    "queued_at",
    "says_more",
)
OWN: Final = len(_OWN)
WaitingRow = tuple[Any, ...]  # _OWN, then as `Alike`


def _waiting() -> Select[Any]:
    backs_off = and_(_c.requeue_at.is_not(None), _c.requeue_at > bindparam("now", type_=Utc))
    says_more = or_(_c.nomination.is_not(None), _c.admission.is_not(None), backs_off)
    spelled: dict[str, ColumnElement[Any]] = {
        **{name: type_coerce(_c[name], LargeBinary).label(name) for name in _AS_BYTES},
        "queued_at": type_coerce(_c.queued_at, String).label("queued_at"),
        "says_more": case((says_more, 1), else_=0).label("says_more"),
        "message": case((_c.reason.in_(sorted(CYCLES)), ""), else_=_c.message).label("message"),
    }
    columns = [spelled[n] if n in spelled else _c[n] for n in (*_OWN, *Alike._fields)]
    return select(*columns).where(_c.state == State.PENDING.value)


_WAITING: Final = Prepared(_waiting())


def charged(tx: Transaction) -> Iterator[SchedulingRow]:
    """Every workload that holds quota; by the thousand, because nothing else runs meanwhile."""
    query = select(*_COLUMNS).where(_c.state.in_(sorted(CHARGED)))
    found = tx.conn.execute(query, execution_options={"yield_per": 1000})
    for rows in found.partitions():
        yield from map(SchedulingRow._make, rows)


def waiting(tx: Transaction) -> Iterator[Sequence[WaitingRow]]:
    """Every workload that waits, a thousand at a time, in no order.

    There may be a million: no column is read that needs converting, and none that only says what
    follows from their waiting.
    """
    yield from _WAITING.batches(tx.conn, 1000, now=tx.now)


def standing(tx: Transaction, uids: Iterable[str]) -> list[SchedulingRow]:
    """Workloads by uid in whatever state; absent ones are left out."""
    return [SchedulingRow._make(row) for row in _STANDING.rows(tx.conn, uids)]


class ProgressRow(NamedTuple):
    """The mutable fields of a workload while it is charged."""

    uid: str
    state: str
    epoch: int
    cluster: str
    succeeded: int
    pods_ready: int = 1


_PULSES: Final = Lookup(
    lambda among: select(*(_c[name] for name in ProgressRow._fields[:-1]), _PODS_READY).where(
        among(_c.uid)
    )
)


def pulses(tx: Transaction, uids: Iterable[str]) -> list[ProgressRow]:
    """The few columns that change while workloads are on a cluster; absent ones are left out."""
    return [ProgressRow._make(row) for row in _PULSES.rows(tx.conn, uids)]


def pending_uids(tx: Transaction, namespace: str, queue: str | None = None) -> list[str]:
    """Uids that wait in one namespace, in one of its queues or in any."""
    query = select(_c.uid).where(_c.state == State.PENDING.value, _c.namespace == namespace)
    if queue is not None:
        query = query.where(_c.queue == queue)
    return list(tx.conn.execute(query).scalars())


def pending_of_placements(tx: Transaction, placements: Iterable[str]) -> list[str]:
    """Uids that wait and are selected by one of these placements."""
    return [
        uid
        for chunk in _chunks(placements)
        for uid in tx.conn.execute(
            select(_c.uid).where(_c.state == State.PENDING.value, _c.placement.in_(chunk))
        ).scalars()
    ]


def pod_sets(tx: Transaction, hashes: Iterable[str]) -> Json:
    """Shapes by hash."""
    return dict(_POD_SETS.rows(tx.conn, hashes))


def identities(tx: Transaction, uids: Iterable[str]) -> dict[str, WorkloadIdentity]:
    """Workloads by uid."""
    return {row[0]: WorkloadIdentity._make(row) for row in _IDENTITIES.rows(tx.conn, uids)}


def rules(
    tx: Transaction, kinds: Sequence[tuple[str, str]], uids: Iterable[str] | None = None
) -> list[RuleObject]:
    """Objects of the kinds that scheduling reads, all or those of `uids`: what decides of each."""
    c = objects.c
    columns: tuple[Any, ...] = (
        c.uid,
        c.api_group,
        c.kind,
        c.namespace,
        c.name,
        c.labels,
        c.spec,
        c.deleted_at,
    )
    # Of all statuses only a check's matters here; those of placements are large.
    status = case((c.kind == "AdmissionCheck", c.status), else_=None)
    columns = (*columns, type_coerce(status, c.status.type).label("status"))
    query = select(*columns).where(c.kind.in_([kind for _, kind in kinds]))
    if uids is None:
        chunks: Iterable[list[str] | None] = (None,)
    else:
        chunks = _chunks(uids)
    found = []
    for chunk in chunks:
        chosen = query if chunk is None else query.where(c.uid.in_(chunk))
        found += [
            RuleObject._make(row)
            for row in tx.conn.execute(chosen)
            if (row.api_group, row.kind) in kinds
        ]
    return found


def heartbeats(tx: Transaction) -> dict[str, dt.datetime | None]:
    """When each member's agent was last heard."""
    return dict(_HEARTBEATS.rows(tx.conn))


def put_explanations(tx: Transaction, found: Mapping[str, JsonView]) -> None:
    """Write why classes of workloads wait, by key."""
    if not found:
        return
    dialect = tx.conn.dialect.name
    if dialect not in _EXPLAIN:
        statement = insert(tx.conn, explanations).values(
            {c.name: bindparam(c.name, type_=c.type) for c in explanations.c}
        )
        _EXPLAIN[dialect] = Bulk(
            statement.on_conflict_do_update(
                index_elements=["key"],
                set_={n: statement.excluded[n] for n in ("explanation", "at")},
            )
        )
    _EXPLAIN[dialect].run(
        tx.conn,
        [{"key": key, "explanation": value, "at": tx.now} for key, value in found.items()],
    )


def explanation(tx: Transaction, key: str) -> tuple[Json, dt.datetime] | None:
    """The reason why a class waits, and its time; None if nothing was refused."""
    row = tx.conn.execute(select(explanations).where(explanations.c.key == key)).one_or_none()
    return None if row is None else (row.explanation, row.at)


def _chunks(values: Iterable[str]) -> Iterable[list[str]]:
    every = list(values)
    return (every[start : start + CHUNK] for start in range(0, len(every), CHUNK))

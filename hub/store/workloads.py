"""Workloads: the narrow, hot table of what waits, runs and has ended. A state changes here alone, in
`transition`, by the table of `hub.domain.workloads.states`.

A stale report or a second verdict on a finished epoch moves nothing.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from sqlalchemy import (
    ColumnElement,
    Select,
    TypeDecorator,
    bindparam,
    func,
    select,
    type_coerce,
    update,
)

from hub.domain.plan import LeftOut
from hub.domain.workloads.states import (
    QUEUED,
    TERMINAL,
    HeldFor,
    State,
    Transition,
    WithdrawTo,
    sources,
    target,
)
from hub.store.bulk import Bulk
from hub.store.columns import StateColumn, WithdrawColumn
from hub.store.lookup import Lookup
from hub.store.records.history import EventFacts
from hub.store.records.workloads import ReasonToWait, Workload, WorkloadChange, WorkloadMove
from hub.store.tables import workloads
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView

BARE: Final = "Workload"  # kind of those that no Job owns: an executor outside runs them
RUN: Final = "Job"  # asked for by name: whatever members run, of which kind it may be

# The event of each transition, and its default message.
EVENTS: Final[Mapping[str, tuple[str, str]]] = {
    Transition.HOLD: ("Held", "held"),
    Transition.RELEASE: ("Released", "waits again"),
    Transition.RESERVE: ("QuotaReserved", "quota is charged, a cluster is being chosen"),
    Transition.UNRESERVE: ("QuotaReleased", "no cluster fits any more: quota is free again"),
    Transition.PLACE: ("Placed", "placed on {cluster}, epoch {epoch}"),
    "admit": ("Admitted", "admitted, epoch {epoch}"),  # a bare Workload's `place`
    Transition.UNPLACE: ("Unplaced", "taken back from {cluster} before it was offered"),
    Transition.OFFER: ("Offered", "offered to {cluster}"),
    Transition.APPLY: ("Applied", "created in {cluster}"),
    Transition.START: ("Started", "runs in {cluster}"),
    Transition.SUSPEND: ("Suspended", "suspended in {cluster} after it ran"),
    Transition.LOSE: (
        "ClusterUnreachable",
        "{cluster} does not answer: waiting, quota stays charged",
    ),
    Transition.WITHDRAW: ("Withdrawing", "being withdrawn from {cluster}"),
    Transition.REQUEUE: ("Requeued", "waits again"),
    Transition.SUCCEED: ("Succeeded", "finished in {cluster}"),
    Transition.FAIL: ("Failed", "failed"),
    Transition.CONCLUDE: ("Succeeded", "finished, says who runs it"),
    Transition.ABORT: ("Failed", "failed, says who runs it"),
    Transition.CANCEL: ("Cancelled", "cancelled"),
    Transition.DEACTIVATE: ("Deactivated", "deactivated"),
}
# The holder that a transition sets, unless the caller names one.
_HELD_FOR: Final = {Transition.HOLD: HeldFor.PERSON, Transition.RELEASE: HeldFor.NOBODY}
_WARNINGS = frozenset({Transition.LOSE, Transition.FAIL, Transition.ABORT, Transition.DEACTIVATE})
# A workload that waits holds no cluster and no quota.
_FREED: Final[JsonView] = {
    "cluster": "",
    "cluster_queue": "",
    "admission": None,
    "nomination": None,
    "reserved_at": None,
    "new_nodes": None,
    "withdraw_to": "",
    "placed_at": None,
    "finished_at": None,
    "applied_at": None,
    "started_at": None,
    "ran_from": None,
    "ran_until": None,
    "pods_ready_at": None,
    "pods_lost_at": None,
    "active": 0,
    "ready": 0,
}
TERMS: Final = "terms"  # in the feed: priority or size of workloads, charged ones too
_TERMS_OF: Final = frozenset({"priority", "admission", "parallelism"})
_ADD: Final = Bulk.insert(workloads)
_REFUSE: Final = Bulk(
    update(workloads)
    .where(workloads.c.uid == bindparam("b_uid"), workloads.c.state == State.PENDING.value)
    .values(reason=bindparam("b_reason"), message=bindparam("b_message"))
)
_ENUMERATED: Final[Mapping[str, type[TypeDecorator[Any]]]] = {
    "state": StateColumn,
    "withdraw_to": WithdrawColumn,
}
_WHOLE: Final = tuple(
    type_coerce(workloads.c[name], _ENUMERATED[name]).label(name)
    if name in _ENUMERATED
    else workloads.c[name]
    for name in Workload._fields
)
_SELECT: Final = select(*_WHOLE)
_BY_UID: Final = Lookup(lambda among: _SELECT.where(among(workloads.c.uid)))
_LIVE: Final = {
    BARE: Lookup(
        lambda among: _SELECT.where(
            among(workloads.c.namespace, workloads.c.name),
            workloads.c.kind == BARE,
            workloads.c.live.is_(True),
        )
    ),
    RUN: Lookup(
        lambda among: _SELECT.where(
            among(workloads.c.namespace, workloads.c.name),
            workloads.c.kind != BARE,
            workloads.c.live.is_(True),
        )
    ),
}


class _Standing(NamedTuple):
    """Fields of a workload that a transition needs."""

    uid: str
    epoch: int
    state: str
    kind: str
    namespace: str
    name: str
    cluster: str
    withdraw_to: str
    generation: int
    reason: str
    message: str


_STANDING: Final = Lookup(
    lambda among: (
        select(*(workloads.c[name] for name in _Standing._fields))
        .where(among(workloads.c.uid))
        .with_for_update()
    )
)
_NO_COLUMNS: Final = frozenset({"if_state", "if_generation", "cause"})
_FIRST = frozenset({"applied_at", "started_at", "pods_ready_at"})  # kept once set, until freed


def add(tx: Transaction, rows: Sequence[Workload]) -> None:
    """Insert new workloads."""
    _ADD.run_records(tx.conn, rows)
    tx.touch("workloads", *(row.uid for row in rows))


def transition(tx: Transaction, name: Transition, rows: Sequence[WorkloadMove]) -> list[str]:
    """Move workloads by transition `name`; the uids actually moved, in the order of `rows`.

    A row carries `uid`, the `epoch` it is about, and further columns to set; `reason` and `message`
    are replaced (by "" if not given); they are also the event's, unless they are the workload's already:
    then the event says what the transition does. A row whose workload is of
    another epoch, or in a state that `name` may not start from, is left out. `place` raises the epoch
    by one; states that wait are freed of cluster and quota; times of states are set to the unit's. A
    workload that is being deleted gives its name back with whatever end it comes to. A row with `if_state`
    or `if_generation` changes only a workload in that state, or of that generation: decisions about
    another one are dropped. `cause` is the event's code of why, where that is not `reason`.
    """
    allowed = frozenset(sources(name))
    known = _standing(tx, [row["uid"] for row in rows])
    moved: dict[str, Json] = {}  # columns
    causes: dict[str, str] = {}
    for row in rows:
        standing = known.get(row["uid"])
        if standing is None or standing.epoch != row["epoch"] or not _as_decided(row, standing):
            continue
        if State(standing.state) in allowed and row["uid"] not in moved:
            moved[row["uid"]] = {k: v for k, v in row.items() if k not in _NO_COLUMNS}
            causes[row["uid"]] = row.get("cause", "")
    if not moved:
        return []
    changed = [_columns(tx, name, given, known[uid]) for uid, given in moved.items()]
    for keys, alike in _by_keys(changed).items():
        _update(keys, freed=target(name) in QUEUED).run(tx.conn, alike)
    tx.touch("workloads", *moved)
    for given, columns in zip(moved.values(), changed, strict=True):
        cause = causes[given["uid"]]
        _say(tx, name, given, known[given["uid"]], columns, cause)
    return list(moved)


def left_out(tx: Transaction, rows: Sequence[WorkloadMove]) -> dict[str, LeftOut]:
    """By uid, why `transition` moved none of these, as things stand now."""
    known = _standing(tx, [row["uid"] for row in rows])
    return {row["uid"]: _why_left_out(row, known.get(row["uid"])) for row in rows}


def _why_left_out(row: WorkloadMove, standing: _Standing | None) -> LeftOut:
    if standing is None:
        return LeftOut.GONE
    if row.get("if_generation", standing.generation) != standing.generation:
        return LeftOut.CHANGED
    return LeftOut.MOVED


def _as_decided(row: WorkloadMove, standing: _Standing) -> bool:
    """Is it still what the row is about?"""
    return bool(row.get("if_state", standing.state) == standing.state) and bool(
        row.get("if_generation", standing.generation) == standing.generation
    )


def refuse(tx: Transaction, rows: Sequence[ReasonToWait]) -> None:
    """Set `reason` and `message` of waiting workloads by uid; the caller names only changed ones."""
    if not rows:
        return
    _REFUSE.run(
        tx.conn,
        [
            {"b_uid": row["uid"], "b_reason": row["reason"], "b_message": row["message"]}
            for row in rows
        ],
    )
    tx.touch("workloads", *(row["uid"] for row in rows))


def change(tx: Transaction, rows: Sequence[WorkloadChange]) -> None:
    """Set columns other than the state, by uid; all rows name the same columns.

    The demand and priority of quota enter the feed as `TERMS` too.
    """
    if not rows:
        return
    columns = cast("Sequence[JsonView]", rows)
    keys = [key for key in rows[0] if key != "uid"]
    if "state" in keys:
        raise ValueError("a state changes by transition only")
    _change(tuple(keys)).run(
        tx.conn, [{f"b_{key}": row[key] for key in ("uid", *keys)} for row in columns]
    )
    tx.touch("workloads", *(row["uid"] for row in rows))
    if not _TERMS_OF.isdisjoint(keys):
        tx.touch(TERMS, *(row["uid"] for row in rows))


def get(tx: Transaction, uid: str) -> Workload | None:
    """One workload, or None."""
    return get_many(tx, [uid]).get(uid)


def get_many(tx: Transaction, uids: Iterable[str]) -> dict[str, Workload]:
    """Workloads by uid; absent ones are left out."""
    return {row[0]: Workload._make(row) for row in _BY_UID.rows(tx.conn, uids)}


def select_whole() -> Select[Any]:
    """A query for whole workloads, to be narrowed down and `read`."""
    return _SELECT


def read(tx: Transaction, query: Select[Any]) -> list[Workload]:
    """The result of a query of `select_whole`."""
    return [Workload._make(row) for row in tx.conn.execute(query)]


def live_by_name(
    tx: Transaction, names: Iterable[tuple[str, str]], kind: str = RUN
) -> dict[tuple[str, str], Workload]:
    """Workloads that occupy the given (namespace, name)s: bare ones (`BARE`), or what members run (`RUN`).

    Among the latter a name is one of them, whatever their kinds.
    """
    rows = map(Workload._make, _LIVE[kind].rows(tx.conn, names))
    return {(row.namespace, row.name): row for row in rows}


def other_kinds(tx: Transaction) -> set[str]:
    """The kinds but Job, as apiVersion/Kind, of which the store has a live job."""
    c = workloads.c
    found = select(c.api_version, c.kind).distinct()
    rows = tx.conn.execute(found.where(c.live.is_(True), c.kind.not_in(("Job", BARE))))
    return {f"{api_version}/{kind}" for api_version, kind in rows}


def newest_by_name(tx: Transaction, namespace: str, name: str, kind: str = RUN) -> Workload | None:
    """The workload that occupies a name, bare or run by members, else the newest that once did."""
    c = workloads.c
    of_kind = c.kind == BARE if kind == BARE else c.kind != BARE
    found = read(
        tx,
        _SELECT.where(c.namespace == namespace, c.name == name, of_kind)
        .order_by(c.live.is_(None), c.created_at.desc(), c.uid.desc())
        .limit(1),
    )
    return found[0] if found else None


def _standing(tx: Transaction, uids: Sequence[str]) -> dict[str, _Standing]:
    """Fields of each workload that a transition needs; locked until commit where possible."""
    return {row[0]: _Standing._make(row) for row in _STANDING.rows(tx.conn, uids)}


def _columns(tx: Transaction, name: Transition, row: Json, standing: _Standing) -> Json:
    """The columns a transition sets: those of its target state, then the caller's own."""
    state = target(name)
    columns: Json = {"state": state.value, "reason": "", "message": ""}
    if state in QUEUED:
        columns.update(_FREED)
    elif state in TERMINAL:
        columns.update(finished_at=tx.now, active=0, ready=0)
        if standing.withdraw_to == WithdrawTo.DELETED:  # however it has ended
            columns.update(live=None, deleted_at=tx.now)
    elif state is State.RUNNING:
        columns.update(applied_at=tx.now, started_at=tx.now)
    elif state is State.APPLIED:
        columns.update(applied_at=tx.now)
    if name in _HELD_FOR:
        columns["held_for"] = _HELD_FOR[name]
    columns.update(row)
    if name == Transition.RESERVE:
        columns.setdefault("reserved_at", tx.now)
    if name == Transition.PLACE:
        columns.setdefault("placed_at", tx.now)
        columns["new_epoch"] = row["epoch"] + 1
        if standing.kind == BARE:
            columns.update(reason=EVENTS["admit"][0], started_at=tx.now)
    return columns


@functools.lru_cache(maxsize=64)
def _change(keys: tuple[str, ...]) -> Bulk:
    return Bulk(
        update(workloads)
        .where(workloads.c.uid == bindparam("b_uid"))
        .values({key: bindparam(f"b_{key}", type_=workloads.c[key].type) for key in keys})
    )


def _by_keys(rows: Iterable[Json]) -> dict[tuple[str, ...], list[Json]]:
    alike: dict[tuple[str, ...], list[Json]] = {}
    for row in rows:
        alike.setdefault(tuple(row), []).append({f"b_{key}": row[key] for key in row})
    return alike


@functools.lru_cache(maxsize=256)
def _update(keys: tuple[str, ...], *, freed: bool) -> Bulk:
    """The statement that sets `keys`; times of firsts are kept, save where a workload is `freed`."""
    values: dict[str, ColumnElement[Any]] = {}
    for key in keys:
        if key in {"uid", "epoch"}:
            continue
        column = "epoch" if key == "new_epoch" else key
        bound = bindparam(f"b_{key}", type_=workloads.c[column].type)
        first = key in _FIRST and not freed
        values[column] = func.coalesce(workloads.c[key], bound) if first else bound
    return Bulk(
        update(workloads)
        .where(workloads.c.uid == bindparam("b_uid"), workloads.c.epoch == bindparam("b_epoch"))
        .values(values)
    )


def _say(
    tx: Transaction, name: Transition, row: Json, standing: _Standing, columns: Json, cause: str
) -> None:
    reason, default = EVENTS[
        "admit" if name == Transition.PLACE and standing.kind == BARE else name
    ]
    facts = EventFacts(
        cluster=row.get("cluster") or standing.cluster,
        epoch=int(columns.get("new_epoch") or row["epoch"]),
        cause=cause or columns["reason"],
        member_at=columns.get("ran_until") or columns.get("ran_from"),
    )
    message = default.format(cluster=facts.cluster, epoch=facts.epoch)
    why = columns["reason"], columns["message"]
    if any(why) and why == (standing.reason, standing.message):
        message += f" ({why[0]})"  # said when it began: this is another happening
    else:
        reason, message = columns["reason"] or reason, columns["message"] or message
    tx.say(standing, reason, message, warning=name in _WARNINGS, facts=facts)

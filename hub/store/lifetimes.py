"""Workloads whose time is limited: by how long they may run, and by when all their pods must be ready."""

import datetime as dt
from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import and_, or_, select, type_coerce

from hub.domain.workloads.states import ON_CLUSTER, State
from hub.store.columns import StateColumn
from hub.store.records.workloads import LimitedRun
from hub.store.tables import workloads
from hub.store.transaction import Transaction

_c = workloads.c
_ADMITTED: Final = ON_CLUSTER - {State.WITHDRAWING}
_ON_MEMBER: Final = (State.OFFERED, State.APPLIED, State.RUNNING)
MOST: Final = 1000  # of one turn: bounds how long writers wait


def limited(tx: Transaction) -> list[LimitedRun]:
    """Admitted workloads whose run time is limited."""
    state = type_coerce(_c.state, StateColumn)
    query = select(_c.uid, _c.max_runtime_s, _c.ran_s, _c.placed_at, state).where(
        _c.max_runtime_s.is_not(None), _c.placed_at.is_not(None), _c.finished_at.is_(None)
    )  # as in its index: states are tested here
    rows = map(LimitedRun._make, tx.conn.execute(query))
    return [row for row in rows if row.state in _ADMITTED]


def never_ready(
    tx: Transaction, admitted_before: dt.datetime, but_on: Collection[str] = ()
) -> dict[str, str]:
    """Jobs on reachable clusters, admitted before then, whose pods have not all been ready yet.

    None `but_on` these clusters. By uid: what their members said last.
    """
    late = and_(_c.pods_ready_at.is_(None), _c.placed_at <= admitted_before)
    return _found(tx, late, but_on)


def no_longer_ready(
    tx: Transaction, lost_before: dt.datetime, but_on: Collection[str] = ()
) -> dict[str, str]:
    """Workloads whose pods were all ready once and, since before then, no longer are; as `never_ready`."""
    return _found(tx, _c.pods_lost_at <= lost_before, but_on)


def _found(tx: Transaction, concerned: Any, but_on: Collection[str]) -> dict[str, str]:
    bare = and_(
        _c.kind == "Workload", _c.state == State.PLACED.value, _c.pods_lost_at.is_not(None)
    )
    query = (
        select(_c.uid, _c.message)
        .where(or_(_c.state.in_(_ON_MEMBER), bare), concerned, _c.cluster.not_in(sorted(but_on)))
        .limit(MOST)
    )
    return {row.uid: row.message for row in tx.conn.execute(query)}

"""Admission checks of workloads: who waits for an answer, and states as they were left."""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import select

from hub.domain.workloads.states import State
from hub.store.lookup import Lookup
from hub.store.records.workloads import ReservedWorkload
from hub.store.tables import workloads
from hub.store.transaction import Transaction
from shared.documents import Json

_c = workloads.c
_STATES: Final = Lookup(
    lambda among: select(_c.uid, _c.checks).where(among(_c.uid), _c.checks.is_not(None))
)
_RESERVED: Final = tuple(_c[name] for name in ReservedWorkload._fields)


def states_of(tx: Transaction, uids: Iterable[str]) -> dict[str, Json]:
    """States by uid; workloads that were never asked for any are left out."""
    return {uid: states for uid, states in _STATES.rows(tx.conn, uids) if states}


def reserved(tx: Transaction, after: str, limit: int) -> list[ReservedWorkload]:
    """Workloads in state Reserved by uid, after a uid, at most `limit`."""
    query = (
        select(*_RESERVED)
        .where(_c.state == State.RESERVED.value, _c.uid > after)
        .order_by(_c.uid)
        .limit(limit)
    )
    return [ReservedWorkload._make(row) for row in tx.conn.execute(query)]

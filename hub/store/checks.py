"""Admission checks of workloads: who waits for an answer, and states as they were left."""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import select

from hub.domain.workloads.states import State
from hub.store.lookup import Lookup
from hub.store.tables import workloads
from hub.store.transaction import Transaction

_c = workloads.c
_STATES: Final = Lookup(
    lambda among: select(_c.uid, _c.checks).where(among(_c.uid), _c.checks.is_not(None))
)
_SHOWN: Final = (
    _c.uid,
    _c.kind,
    _c.namespace,
    _c.name,
    _c.queue,
    _c.cluster_queue,
    _c.cluster,
    _c.admission,
    _c.checks,
    _c.reserved_at,
)


def states_of(tx: Transaction, uids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """States by uid; workloads that were never asked for any are left out."""
    return {uid: states for uid, states in _STATES.rows(tx.conn, uids) if states}


def reserved(tx: Transaction, after: str, limit: int) -> list[dict[str, Any]]:
    """Workloads in state Reserved by uid, after a uid, at most `limit`."""
    query = (
        select(*_SHOWN)
        .where(_c.state == State.RESERVED.value, _c.uid > after)
        .order_by(_c.uid)
        .limit(limit)
    )
    return [dict(row) for row in tx.conn.execute(query).mappings()]

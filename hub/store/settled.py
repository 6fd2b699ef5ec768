"""Decisions of placements that stand: read by cluster, and since when all is there; prepared statements."""

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import and_, bindparam, case, func, select, update

from hub.store.bulk import Bulk
from hub.store.lookup import Lookup
from hub.store.records.placements import Binding
from hub.store.tables import bindings
from hub.store.transaction import Transaction

_BINDINGS: Final = Lookup(
    lambda among: select(*(bindings.c[name] for name in Binding._fields)).where(
        among(bindings.c.placement, bindings.c.cluster)
    )
)
_SETTLE: Final = Bulk(
    update(bindings)
    .where(bindings.c.placement == bindparam("p"), bindings.c.cluster == bindparam("c"))
    .values(settled_at=bindparam("s", type_=bindings.c.settled_at.type))
)


def bindings_in(tx: Transaction, placement: str, clusters: Iterable[str]) -> dict[str, Binding]:
    """The decisions of one placement for some clusters, by cluster; absent ones are left out."""
    rows = _BINDINGS.rows(tx.conn, [(placement, each) for each in clusters])
    return {row[1]: Binding._make(row) for row in rows}


def unsettled(tx: Transaction) -> dict[str, int]:
    """By uid of each placement that chose clusters: of how many not all is there; 0 for those of Jobs."""
    open_ = and_(bindings.c.settled_at.is_(None), bindings.c.policy_snapshot != "job")
    query = (
        select(bindings.c.placement, func.sum(case((open_, 1), else_=0)))
        .where(bindings.c.selected.is_(True))
        .group_by(bindings.c.placement)
    )
    return {uid: int(number) for uid, number in tx.conn.execute(query)}


def settle(tx: Transaction, changed: Sequence[Binding]) -> None:
    """Set of decisions that stand since when all is there, and nothing else of them."""
    if not changed:
        return
    rows = [{"p": each.placement, "c": each.cluster, "s": each.settled_at} for each in changed]
    _SETTLE.run(tx.conn, rows)
    tx.touch("bindings", *{each.placement for each in changed})

"""Jobs of which a store that went back does not know where they are: found, and marked, all at once."""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import bindparam, func, select, type_coerce, update

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import State
from hub.store.bulk import Bulk
from hub.store.columns import StateColumn
from hub.store.records.workloads import DoubtedJob, GivenWork
from hub.store.tables import workloads, works
from hub.store.transaction import Transaction
from hub.store.workloads import BARE
from hub.store.works import chunks, key

_MARK: Final = Bulk(
    update(works)
    .where(works.c.cluster == bindparam("b_cluster"), works.c.uid == bindparam("b_uid"))
    .values(
        options=bindparam("b_options", type_=works.c.options.type),
        hash=bindparam("b_hash"),
        seen=bindparam("b_seen"),
    )
)


def jobs_in(tx: Transaction, states: Iterable[State]) -> list[DoubtedJob]:
    """Jobs in these states, bare Workloads left out."""
    c = workloads.c
    columns = (c.uid, c.epoch, type_coerce(c.state, StateColumn))
    query = select(*columns).where(c.state.in_(list(states)), c.kind != BARE)
    return [DoubtedJob._make(row) for row in tx.conn.execute(query)]


def given_in(
    tx: Transaction, states: Iterable[State], uids: Sequence[str] | None = None
) -> list[GivenWork]:
    """The works of jobs in these states (or of these few), of their present epochs."""
    c, held = workloads.c, works.c
    query = (
        select(held.cluster, held.uid, held.options)
        .join(works, (held.cluster == c.cluster) & (held.uid == c.uid) & (held.epoch == c.epoch))
        .where(c.state.in_(list(states)))
    )
    if uids is not None:
        query = query.where(c.uid.in_(list(uids)))
    return [GivenWork._make(row) for row in tx.conn.execute(query)]


def mark(tx: Transaction, rows: Sequence[GivenWork]) -> None:
    """Set the options of works, which agents receive again, as seen."""
    if not rows:
        return
    _MARK.run(
        tx.conn,
        [
            {f"b_{name}": value for name, value in row._asdict().items()}
            | {"b_hash": "", "b_seen": True}
            for row in rows
        ],
    )
    tx.touch("works", *(key(row.cluster, row.uid) for row in rows))


def newest_creation(tx: Transaction) -> dt.datetime | None:
    """When the newest job was created by the hub's own clock (not by kubectl); None without jobs."""
    query = select(func.max(workloads.c.created_at)).where(workloads.c.origin == Origin.REST)
    return tx.conn.execute(query).scalar()


def options_of(tx: Transaction, cluster: str, uids: Iterable[str]) -> dict[str, ApplyOptions]:
    """The options of one cluster's works, by uid."""
    query = select(works.c.uid, works.c.options).where(works.c.cluster == cluster)
    return {
        row.uid: row.options
        for chunk in chunks(uids)
        for row in tx.conn.execute(query.where(works.c.uid.in_(chunk)))
    }

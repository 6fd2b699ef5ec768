"""Jobs of which a store that went back does not know where they are: found, and marked, all at once."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import bindparam, select, update

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State
from hub.store.bulk import Bulk
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


def jobs_in(tx: Transaction, states: Iterable[State]) -> list[dict[str, Any]]:
    """Jobs in these states, whoever runs none of them left out: uid, epoch, state."""
    c = workloads.c
    query = select(c.uid, c.epoch, c.state).where(c.state.in_(list(states)), c.kind != BARE)
    return [dict(row) for row in tx.conn.execute(query).mappings()]


def given_in(tx: Transaction, states: Iterable[State]) -> list[dict[str, Any]]:
    """The works of jobs in these states, of their present epochs: cluster, uid, options."""
    c, held = workloads.c, works.c
    query = (
        select(held.cluster, held.uid, held.options)
        .join(works, (held.cluster == c.cluster) & (held.uid == c.uid) & (held.epoch == c.epoch))
        .where(c.state.in_(list(states)))
    )
    return [dict(row) for row in tx.conn.execute(query).mappings()]


def mark(tx: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    """Set the options of works, which agents are told anew and as seen: cluster, uid, options."""
    if not rows:
        return
    _MARK.run(
        tx.conn,
        [
            {f"b_{name}": value for name, value in row.items()} | {"b_hash": "", "b_seen": True}
            for row in rows
        ],
    )
    tx.touch("works", *(key(row["cluster"], row["uid"]) for row in rows))


def options_of(tx: Transaction, cluster: str, uids: Iterable[str]) -> dict[str, ApplyOptions]:
    """The options of one cluster's works, by uid."""
    query = select(works.c.uid, works.c.options).where(works.c.cluster == cluster)
    return {
        row.uid: row.options
        for chunk in chunks(uids)
        for row in tx.conn.execute(query.where(works.c.uid.in_(chunk)))
    }

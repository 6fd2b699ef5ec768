"""Members: what an administrator declared, how each agent's session stands, what it last reported."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Final, Unpack

from sqlalchemy import bindparam, delete, select, update

from hub.store.bulk import Bulk
from hub.store.dialect import insert
from hub.store.lookup import Lookup, Prepared
from hub.store.records.history import EventFacts
from hub.store.records.members import DownSince, Member, MemberColumns, Speaking
from hub.store.tables import capacities, clusters, objects
from hub.store.transaction import Transaction
from shared.groups import CLUSTER

_WHOLE: Final = select(*(clusters.c[name] for name in Member._fields))
_ALL: Final = Prepared(_WHOLE.order_by(clusters.c.name))
_NAMED: Final = Prepared(_WHOLE.where(clusters.c.name == bindparam("name")))
_CAPACITIES: Final = select(capacities.c.cluster, capacities.c.capacity, capacities.c.at)
_EVERY_CAPACITY: Final = Prepared(_CAPACITIES)
_CAPACITY_OF: Final = Lookup(lambda among: _CAPACITIES.where(among(capacities.c.cluster)))
_LEAVING: Final = Prepared(
    select(objects.c.name)
    .where(
        objects.c.api_group == CLUSTER,
        objects.c.kind == "MemberCluster",
        objects.c.deleted_at.is_not(None),
    )
    .order_by(objects.c.name)
)
_SET_CAPACITY: Final[dict[str, Bulk]] = {}  # by dialect
_SESSIONS: Final = Lookup(
    lambda among: select(clusters.c.name, clusters.c.session, clusters.c.session_seq).where(
        among(clusters.c.name)
    )
)
_HEAR: Final = Bulk(
    update(clusters)
    .where(clusters.c.name == bindparam("b_name"))
    .values(session_seq=bindparam("b_seq"))
)
_BEAT = Bulk(
    update(clusters)
    .where(
        clusters.c.name == bindparam("b_name"),
        clusters.c.joined_at.is_not(None),
        clusters.c.heartbeat_at.is_(None)  # another hub may have heard it since
        | (clusters.c.heartbeat_at < bindparam("b_at", type_=clusters.c.heartbeat_at.type)),
    )
    .values(heartbeat_at=bindparam("b_at", type_=clusters.c.heartbeat_at.type))
)


def add(tx: Transaction, member: Member) -> None:
    """Insert one member."""
    tx.conn.execute(clusters.insert(), member._asdict())
    tx.touch("clusters", member.name)


def change(tx: Transaction, name: str, **columns: Unpack[MemberColumns]) -> bool:
    """Set columns of one member; False if there is none of that name."""
    done = tx.conn.execute(update(clusters).where(clusters.c.name == name).values(dict(columns)))
    tx.touch("clusters", name)
    return bool(done.rowcount)


def beat(tx: Transaction, at: Mapping[str, dt.datetime]) -> None:
    """Note when agents that are joined were last heard; enters no feed, for it changes every few seconds."""
    _BEAT.run(tx.conn, [{"b_name": name, "b_at": instant} for name, instant in at.items()])


def forget_capacity(tx: Transaction, name: str) -> None:
    """Forget what one member reported of itself."""
    tx.conn.execute(delete(capacities).where(capacities.c.cluster == name))
    tx.touch("clusters", name)


def remove(tx: Transaction, name: str) -> None:
    """Forget one member and its capacity."""
    forget_capacity(tx, name)
    tx.conn.execute(delete(clusters).where(clusters.c.name == name))
    tx.touch("clusters", name)


def get(tx: Transaction, name: str) -> Member | None:
    """One member by its exact name."""
    rows = _NAMED.rows(tx.conn, name=name)
    return Member._make(rows[0]) if rows else None


def open_names(tx: Transaction) -> set[str]:
    """Members that may be given new work."""
    query = select(clusters.c.name).where(clusters.c.cordoned.is_(False))
    return set(tx.conn.execute(query).scalars())


def names(tx: Transaction) -> set[str]:
    """Members that are there: not those that were written off."""
    c = clusters.c
    written_off = c.joined_at.is_(None) & c.session_at.is_not(None)
    return set(tx.conn.execute(select(c.name).where(~written_off)).scalars())


def sessions(tx: Transaction, names: Iterable[str]) -> dict[str, Speaking]:
    """The session that speaks for each of these members; "" before its first."""
    return {name: Speaking(session, seq) for name, session, seq in _SESSIONS.rows(tx.conn, names)}


def hear(tx: Transaction, newest: Mapping[str, int]) -> None:
    """Note the newest request of each member's session whose report this transaction stores; no feed."""
    _HEAR.run(tx.conn, [{"b_name": name, "b_seq": seq} for name, seq in newest.items()])


def say(
    tx: Transaction,
    member: Member,
    reason: str,
    message: str,
    *,
    warning: bool = False,
    cause: str = "",
) -> None:
    """Say what happened to a member, as an event of its MemberCluster."""
    tx.event(
        uid=member.object,
        kind="MemberCluster",
        namespace="",
        name=member.name,
        reason=reason,
        message=message,
        type="Warning" if warning else "Normal",
        facts=EventFacts(cluster=member.name, cause=cause),
    )


def leaving(tx: Transaction) -> list[str]:
    """Members that are emptied before they are forgotten, by name."""
    return _LEAVING.scalars(tx.conn)


def list_all(tx: Transaction) -> list[Member]:
    """All members by name."""
    return [Member._make(row) for row in _ALL.rows(tx.conn)]


def set_capacity(
    tx: Transaction, cluster: str, capacity: bytes, down: DownSince | None = None
) -> None:
    """Replace what `cluster` has; `capacity` is agent_v1.Capacity as JSON.

    `down`: its API server does not answer its agent.
    """
    dialect = tx.conn.dialect.name
    if dialect not in _SET_CAPACITY:
        bound = {c.name: bindparam(c.name, type_=c.type) for c in capacities.columns}
        statement = insert(tx.conn, capacities).values(bound)
        news = {n: statement.excluded[n] for n in ("capacity", "at", "down")}
        _SET_CAPACITY[dialect] = Bulk(
            statement.on_conflict_do_update(index_elements=["cluster"], set_=news)
        )
    row = {"cluster": cluster, "capacity": capacity, "at": tx.now, "down": down}
    _SET_CAPACITY[dialect].run(tx.conn, [row])
    tx.touch("clusters", cluster)


def get_capacities(
    tx: Transaction, names: Iterable[str] | None = None
) -> dict[str, tuple[bytes, dt.datetime]]:
    """Last reports of members: name → (agent_v1.Capacity as JSON, when)."""
    rows = _EVERY_CAPACITY.rows(tx.conn) if names is None else _CAPACITY_OF.rows(tx.conn, names)
    return {name: (capacity, at) for name, capacity, at in rows}


def down(tx: Transaction) -> dict[str, DownSince]:
    """Members whose API server does not answer their agent, by name."""
    query = select(capacities.c.cluster, capacities.c.down).where(capacities.c.down.is_not(None))
    return {name: told for name, told in tx.conn.execute(query) if told}

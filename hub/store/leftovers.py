"""Jobs that members report from before the store was restored: one setting each.

A release is decided by them. Unlike the list that people are shown, they do not expire, and one member may
have thousands (`MOST_OF_MEMBER`). The name of a setting begins with a digest of the job's uid, so that those
of one job are read by that prefix.
"""

import hashlib
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, delete, func, or_, select

from hub.store.dialect import CHUNK, begins_with, insert
from hub.store.tables import settings
from hub.store.transaction import Transaction

PREFIX: Final = "earlier_job:"
MOST_OF_MEMBER: Final = 20_000  # that are kept of one member
_FEW: Final = 50  # jobs that are read by a prefix each; for more, all leftovers are read at once


class Leftover(NamedTuple):
    """One earlier Job: the uid of its job, its member, and the epoch that it carries.

    `is_job`: its kind is Job for certain, as the agent that reported it sees no other kind.
    """

    uid: str
    cluster: str
    epoch: int
    is_job: bool = True


def note(tx: Transaction, cluster: str, found: Collection[Leftover]) -> bool:
    """Keep these of one member; False, and none is kept, if that makes more than `MOST_OF_MEMBER`.

    A row of the same job in the same member is replaced.
    """
    rows = [{"name": _name(each.uid, cluster), "value": list(each)} for each in found]
    if not rows:
        return True
    if len(rows) + _others(tx, cluster, [row["name"] for row in rows]) > MOST_OF_MEMBER:
        return False
    statement = insert(tx.conn, settings)
    tx.conn.execute(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"value": statement.excluded.value}
        ),
        rows,
    )
    tx.touch("settings", *(str(row["name"]) for row in rows))
    return True


def _others(tx: Transaction, cluster: str, names: Collection[object]) -> int:
    """The number of rows of this member under other names."""
    name = settings.c.name
    kept = tx.conn.execute(
        select(func.count()).where(_begins(tx, ""), name.endswith(f":{_member(cluster)}"))
    ).scalar_one()
    if not kept:
        return 0
    again = 0
    listed = list(names)
    for start in range(0, len(listed), CHUNK):
        part = name.in_(listed[start : start + CHUNK])
        again += tx.conn.execute(select(func.count()).where(part)).scalar_one()
    return int(kept) - again


def of_jobs(tx: Transaction, uids: Collection[str]) -> list[Leftover]:
    """Those of these jobs, read by one query."""
    if len(uids) > _FEW:
        wanted = set(uids)
        return [each for each in list_all(tx) if each.uid in wanted]
    theirs = [_begins(tx, f"{_job(uid)}:") for uid in uids]
    return _read(tx, or_(*theirs)) if theirs else []


def list_all(tx: Transaction) -> list[Leftover]:
    """All of them."""
    return _read(tx, _begins(tx, ""))


def of_cluster(tx: Transaction, cluster: str) -> list[Leftover]:
    """Those of one member."""
    return [each for each in list_all(tx) if each.cluster == cluster]


def drop(tx: Transaction, gone: Iterable[Leftover]) -> None:
    """Forget these."""
    names = [_name(each.uid, each.cluster) for each in gone]
    for start in range(0, len(names), 500):
        part = names[start : start + 500]
        tx.conn.execute(delete(settings).where(settings.c.name.in_(part)))
    tx.touch("settings", *names)


def _read(tx: Transaction, where: ColumnElement[bool]) -> list[Leftover]:
    found = tx.conn.execute(select(settings.c.value).where(where)).scalars()
    return [Leftover(*value) for value in found]


def _begins(tx: Transaction, start: str) -> ColumnElement[bool]:
    return begins_with(tx.conn.dialect.name, settings.c.name, f"{PREFIX}{start}")


def _job(uid: str) -> str:
    return hashlib.sha256(uid.encode()).hexdigest()[:30]


def _name(uid: str, cluster: str) -> str:
    return f"{PREFIX}{_job(uid)}:{_member(cluster)}"


def _member(cluster: str) -> str:
    return hashlib.sha256(cluster.encode()).hexdigest()[:20]

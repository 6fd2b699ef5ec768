"""Jobs that members report from before the store was restored: one setting each, however many there are.

A release is decided by them. Unlike the list that people are shown, they have no limit and do not expire.
The name of a setting begins with a digest of the job's uid, so that one job's are read by a range.
"""

import hashlib
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, and_, delete, or_, select

from hub.store.dialect import insert
from hub.store.tables import settings
from hub.store.transaction import Transaction

PREFIX: Final = "earlier_job:"
_AFTER: Final = "earlier_job;"  # the first name behind all that begin with the prefix
_FEW: Final = 50  # jobs that are read by a range each; for more, all leftovers are read at once


class Leftover(NamedTuple):
    """One Job of before: which job, in which member, and the epoch that it carries."""

    uid: str
    cluster: str
    epoch: int


def note(tx: Transaction, found: Iterable[Leftover]) -> None:
    """Keep these; what was kept of the same job in the same member is replaced."""
    rows = [{"name": _name(each.uid, each.cluster), "value": list(each)} for each in found]
    if not rows:
        return
    statement = insert(tx.conn, settings)
    tx.conn.execute(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"value": statement.excluded.value}
        ),
        rows,
    )
    tx.touch("settings", *(str(row["name"]) for row in rows))


def of_jobs(tx: Transaction, uids: Collection[str]) -> list[Leftover]:
    """Those of these jobs, read by one query."""
    if len(uids) > _FEW:
        wanted = set(uids)
        return [each for each in list_all(tx) if each.uid in wanted]
    ranges = [_range(_job(uid)) for uid in uids]
    return _read(tx, or_(*ranges)) if ranges else []


def list_all(tx: Transaction) -> list[Leftover]:
    """All of them."""
    return _read(tx, _range(""))


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


def _range(start: str) -> ColumnElement[bool]:
    low = f"{PREFIX}{start}"
    high = f"{low};" if start else _AFTER
    return and_(settings.c.name >= low, settings.c.name < high)


def _job(uid: str) -> str:
    return hashlib.sha256(uid.encode()).hexdigest()[:30]


def _name(uid: str, cluster: str) -> str:
    return f"{PREFIX}{_job(uid)}:{hashlib.sha256(cluster.encode()).hexdigest()[:20]}"

"""Versions of kinds that administrators define. They never change; new objects are read by `current` ones."""

import datetime as dt
from collections.abc import Iterable
from typing import Final, NamedTuple

from sqlalchemy import delete, func, or_, select, true, tuple_, update

from hub.domain.workloads.states import TERMINAL
from hub.store.tables import kind_versions, workloads, works
from hub.store.transaction import Transaction
from shared.documents import Json

SETTING: Final = "kind_versions"  # touched with each change, for those who follow


class KindVersion(NamedTuple):
    """One accepted version. `name`: of its Karta; `hash`: of both documents."""

    name: str
    version: int
    api_version: str
    kind: str
    karta: Json
    extension: Json | None
    hash: str
    current: bool
    created_at: dt.datetime

    @property
    def key(self) -> str:
        """As jobs and agents name it."""
        return key_of(self.name, self.version)


class KindUse(NamedTuple):
    """A job that is read by a version."""

    kind_version: str
    namespace: str
    name: str
    cluster: str  # "": it waits


def key_of(name: str, version: int) -> str:
    """NAME@VERSION."""
    return f"{name}@{version}"


def all_known(tx: Transaction) -> list[KindVersion]:
    """All versions, by name and number."""
    c = kind_versions.c
    return [
        KindVersion._make(row)
        for row in tx.conn.execute(select(kind_versions).order_by(c.name, c.version))
    ]


def read_by(versions: Iterable[KindVersion]) -> dict[tuple[str, str], KindVersion]:
    """By apiVersion and kind, the version by which new objects are read: the last current one by name."""
    return {(each.api_version, each.kind): each for each in versions if each.current}


def to_tell(tx: Transaction) -> list[KindVersion]:
    """The versions that agents must have: current ones, and those that jobs name. A newer one comes later."""
    known = all_known(tx)
    if not known:
        return []
    used = named_by_jobs(tx)
    return [each for each in known if each.current or each.key in used]


def is_current(tx: Transaction, key: str) -> bool:
    """True if new objects are still read by it."""
    name, _, version = key.rpartition("@")
    c = kind_versions.c
    query = select(c.current).where(c.name == name, c.version == int(version))
    return bool(tx.conn.execute(query).scalar())


def add(tx: Transaction, row: KindVersion) -> None:
    """Insert the version that is current from now on."""
    retire(tx, row.name)
    tx.conn.execute(kind_versions.insert(), row._asdict())


def retire(tx: Transaction, name: str) -> None:
    """No new object is read by any version of this name."""
    c = kind_versions.c
    tx.conn.execute(update(kind_versions).where(c.name == name).values(current=False))


def remove(tx: Transaction, rows: list[KindVersion]) -> None:
    """Forget versions that no job names."""
    c = kind_versions.c
    keys = [(each.name, each.version) for each in rows]
    if keys:
        tx.conn.execute(delete(kind_versions).where(tuple_(c.name, c.version).in_(keys)))


def named_by_jobs(tx: Transaction) -> set[str]:
    """Keys of the versions that a job names which is there, or whose object a member may still hold."""
    c = workloads.c
    held = select(works.c.uid).where(works.c.uid == c.uid).exists()
    query = select(c.kind_version).where(c.kind_version != "", or_(c.live.is_(True), held))
    return set(tx.conn.execute(query.distinct()).scalars())


def uses(
    tx: Transaction, name: str, limit: int, but: tuple[str, str] | None = None
) -> list[KindUse]:
    """Jobs that have not ended and are read by any version of this name, by place; none of kind `but`."""
    c = workloads.c
    other = true() if but is None else or_(c.api_version != but[0], c.kind != but[1])
    query = (
        select(c.kind_version, c.namespace, c.name, c.cluster)
        .where(c.kind_version.startswith(f"{name}@", autoescape=True))
        .where(c.state.not_in(list(TERMINAL)), c.live.is_(True), other)
        .order_by(c.namespace, c.name)
        .limit(limit)
    )
    return [KindUse._make(row) for row in tx.conn.execute(query)]


def counts(tx: Transaction) -> dict[str, tuple[int, int]]:
    """By version the jobs that have not ended: how many wait, and how many are in a member."""
    c = workloads.c
    query = (
        select(c.kind_version, c.cluster == "", func.count())
        .where(c.kind_version != "", c.state.not_in(list(TERMINAL)), c.live.is_(True))
        .group_by(c.kind_version, c.cluster == "")
    )
    found: dict[str, tuple[int, int]] = {}
    for key, waits, number in tx.conn.execute(query):
        waiting, placed = found.get(key, (0, 0))
        found[key] = (waiting + number, placed) if waits else (waiting, placed + number)
    return found

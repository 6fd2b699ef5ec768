"""Pages of works, measured before they are read: all of them, or those with drift."""

from typing import Final, NamedTuple

from sqlalchemy import and_, case, func, literal, select

from hub.store import scoping
from hub.store.dialect import Query
from hub.store.records.works import DriftedWork, Work
from hub.store.tables import works
from hub.store.transaction import Transaction

_SIZE: Final = sum(
    (func.coalesce(func.length(each), 0) for each in (works.c.drift, works.c.observed)), literal(0)
)


def list_page(
    tx: Transaction,
    placement: str,
    cluster: str,
    after: tuple[str, str] | None,
    limit: int,
    *,
    failed: bool = False,
) -> list[Work]:
    """Works by (cluster, uid), after a position, at most `limit`.

    `placement` (uid), `cluster`: of that one alone, unless "". `failed`: refused, missing or not available.
    Only works within the scope of the transaction.
    """
    query = _page(tx, select(works), placement, cluster, after, limit, failed=failed)
    return [Work._make(row) for row in tx.conn.execute(query)]


def page_sizes(
    tx: Transaction,
    placement: str,
    cluster: str,
    after: tuple[str, str] | None,
    limit: int,
    *,
    failed: bool = False,
) -> list[int]:
    """Bytes that are stored of each work which `list_page` would read."""
    query = _page(tx, select(_SIZE), placement, cluster, after, limit, failed=failed)
    return [int(each) for each in tx.conn.execute(query).scalars()]


def _page(
    tx: Transaction,
    query: Query,
    placement: str,
    cluster: str,
    after: tuple[str, str] | None,
    limit: int,
    *,
    failed: bool,
) -> Query:
    c = works.c
    query = query.where(*scoping.of_works(tx))
    if placement:
        query = query.where(c.placed_by == placement)
    if cluster:
        query = query.where(c.cluster == cluster)
    if failed:
        query = query.where(c.phase.in_(("Failed", "Missing")) | c.available.is_(False))
    if after is not None:
        query = query.where(
            (c.cluster > after[0]) | ((c.cluster == after[0]) & (c.uid > after[1]))
        )
    return query.order_by(c.cluster, c.uid).limit(limit)


class PlacedFigures(NamedTuple):
    """Number of objects of placements in one cluster and phase, and of those that are not as wanted."""

    cluster: str
    phase: str  # "": nothing was reported yet
    objects: int
    unavailable: int
    drifted: int


def placed_figures(tx: Transaction) -> list[PlacedFigures]:
    """By cluster and phase; jobs of queues are left out, and so is what is only compared."""
    c = works.c
    query = (
        select(
            c.cluster,
            c.phase,
            func.count(),
            func.sum(case((c.available.is_(False), 1), else_=0)),
            func.sum(case((c.drift.is_not(None), 1), else_=0)),
        )
        .where(and_(c.placed_by > "", c.action != "Compare"))
        .group_by(c.cluster, c.phase)
        .order_by(c.cluster, c.phase)
    )
    return [PlacedFigures._make(row) for row in tx.conn.execute(query)]


def list_drifted(tx: Transaction, after: tuple[str, str] | None, limit: int) -> list[DriftedWork]:
    """Works with drift by (cluster, uid), after a position, at most `limit`; not what is only compared."""
    c = works.c
    columns = (
        c.cluster,
        c.uid,
        c.kind,
        c.namespace,
        c.name,
        c.drift,
        c.observed_at,
        c.observed,
        c.options,
    )
    query = _drifted(tx, select(*columns), after, limit)
    return [DriftedWork._make(row) for row in tx.conn.execute(query)]


def drifted_sizes(tx: Transaction, after: tuple[str, str] | None, limit: int) -> list[int]:
    """Bytes that are stored of each work which `list_drifted` would read."""
    query = _drifted(tx, select(_SIZE), after, limit)
    return [int(each) for each in tx.conn.execute(query).scalars()]


def _drifted(tx: Transaction, query: Query, after: tuple[str, str] | None, limit: int) -> Query:
    c = works.c
    query = query.where(c.drift.is_not(None), c.action != "Compare", *scoping.of_works(tx))
    if after is not None:
        query = query.where(
            (c.cluster > after[0]) | ((c.cluster == after[0]) & (c.uid > after[1]))
        )
    return query.order_by(c.cluster, c.uid).limit(limit)

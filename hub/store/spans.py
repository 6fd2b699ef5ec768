"""Bounds the rows that one page of a list of workloads reads, for any filter and any number of jobs.

Lists are newest first, by `ix_workloads_created_at` (of one owner by `ix_workloads_owner`). If a filter
leaves few rows, by its own index, these are read and sorted. If it leaves many, rows are read in the order
of the list, `MOST_READ` at most: a page with fewer matches ends there, and the next one begins there.
There is no index beside those that the path of a job needs: each would cost every submission.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Tuple, and_, func, literal, select, tuple_

from hub.store import scoping
from hub.store.tables import workloads
from hub.store.transaction import Transaction

MOST_READ: Final = 10_000
_SCOPE: Final = "the caller's scope"
Position = tuple[dt.datetime, str]  # of the last row seen: when it was created, its uid


@dataclass(frozen=True, slots=True)
class Span:
    """Conditions on `workloads` of one page, those of who asks among them.

    `until`: the page ends there and more rows may follow; None: the list ends with this page.
    """

    where: tuple[ColumnElement[bool], ...]
    until: Position | None


@dataclass(frozen=True, slots=True)
class ListFilters:
    """The filters of a list: values of columns, a prefix of names, and states (a row has one of them)."""

    values: Mapping[str, str]
    prefix: str = ""
    states: Collection[str] = ()


def span_of(
    tx: Transaction, asked: ListFilters, after: Position | None, most: int = MOST_READ
) -> Span:
    """The span of the page after a position: at most `most` rows, and as many entries of two indexes."""
    lead = "owner" if "owner" in asked.values else ""
    narrow = "" if lead else _narrow(tx, asked, most)
    where = [
        (workloads.c[name] if name in (lead, narrow) else by_no_index(name)) == value
        for name, value in asked.values.items()
    ]
    scope = None if narrow == _SCOPE else tuple(map(by_no_index, ("namespace", "queue", "owner")))
    where += scoping.of_jobs(tx, scope)
    if asked.states:
        where.append(by_no_index("state").in_(sorted(asked.states)))
    if asked.prefix:
        column = workloads.c.name if narrow == "namespace" else by_no_index("name")
        where.append(_begins_with(column, asked.prefix))
    if after is not None:
        where.append(_order() < _literal(after))
    if narrow:
        return Span(tuple(where), None)
    until = _end(tx, asked.values.get("owner") if lead else None, after, most)
    if until is not None:
        where.append(_order() >= _literal(until))
    return Span(tuple(where), until)


def _narrow(tx: Transaction, asked: ListFilters, most: int) -> str:
    """The filter by whose index at most `most` rows are read; "" if no filter is so narrow."""
    c = workloads.c
    tried: dict[str, list[ColumnElement[bool]]] = {
        name: [c[name] == asked.values[name]]
        for name in ("state", "namespace")
        if name in asked.values
    }
    if asked.prefix and "namespace" in tried:
        tried["namespace"].append(_begins_with(c.name, asked.prefix))
    areas = () if tx.scope.is_everything else tuple(tx.scope.sees)
    if areas and "namespace" not in tried and all(each.namespaces is not None for each in areas):
        tried[_SCOPE] = [
            c.namespace.in_(sorted(set().union(*(a.namespaces or () for a in areas))))
        ]
    for name, held in tried.items():
        some = select(literal(1)).select_from(workloads).where(*held).limit(most + 1).subquery()
        if int(tx.conn.execute(select(func.count()).select_from(some)).scalar() or 0) <= most:
            return name
    return ""


def _end(tx: Transaction, owner: str | None, after: Position | None, most: int) -> Position | None:
    """The last of the next `most` rows in the order of the list; None where there are not as many."""
    c = workloads.c
    query = select(c.created_at, c.uid)
    if owner is not None:
        query = query.where(c.owner == owner)
    if after is not None:
        query = query.where(_order() < _literal(after))
    row = tx.conn.execute(
        query.order_by(c.created_at.desc(), c.uid.desc()).offset(most - 1).limit(1)
    ).first()
    return None if row is None else (row.created_at, row.uid)


def _order() -> Tuple:
    return tuple_(workloads.c.created_at, workloads.c.uid)


def _literal(at: Position) -> Tuple:
    c = workloads.c
    return tuple_(literal(at[0], c.created_at.type), literal(at[1], c.uid.type))


def _begins_with(column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    """By a range, which an index serves: both databases order names by their bytes."""
    return and_(column >= prefix, column < prefix + "\uffff")


def by_no_index(name: str) -> ColumnElement[str]:
    """A column as no planner looks it up: the order of the list decides what is read, not this."""
    return workloads.c[name].concat("")

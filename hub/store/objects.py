"""Objects: a manifest of any kind the hub knows, except Jobs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Select, bindparam, delete, func, select, update

from hub.store.dialect import CHUNK
from hub.store.tables import objects
from hub.store.unit import Unit

Row = dict[str, Any]


def add(unit: Unit, row: Mapping[str, Any]) -> None:
    """Insert one object."""
    unit.conn.execute(objects.insert(), dict(row))
    unit.touch("objects", row["uid"])


def change(unit: Unit, uid: str, **columns: Any) -> None:
    """Set columns of one object."""
    unit.conn.execute(update(objects).where(objects.c.uid == uid).values(columns))
    unit.touch("objects", uid)


def set_statuses(unit: Unit, statuses: Mapping[str, Any]) -> None:
    """Set the status of objects by uid."""
    if not statuses:
        return
    unit.conn.execute(
        update(objects).where(objects.c.uid == bindparam("b_uid")).values(status=bindparam("s")),
        [{"b_uid": uid, "s": status} for uid, status in statuses.items()],
    )
    unit.touch("objects", *statuses)


def remove(unit: Unit, uid: str) -> None:
    """Delete one object's row."""
    unit.conn.execute(delete(objects).where(objects.c.uid == uid))
    unit.touch("objects", uid)


def get(unit: Unit, uid: str) -> Row | None:
    """One object by uid."""
    return _first(unit, select(objects).where(objects.c.uid == uid))


def get_many(unit: Unit, uids: Iterable[str]) -> dict[str, Row]:
    """Objects by uid; absent ones are left out."""
    every = list(uids)
    found: dict[str, Row] = {}
    for start in range(0, len(every), CHUNK):
        query = select(objects).where(objects.c.uid.in_(every[start : start + CHUNK]))
        found.update((row["uid"], dict(row)) for row in unit.conn.execute(query).mappings())
    return found


def find(unit: Unit, group: str, kind: str, namespace: str, name: str) -> Row | None:
    """The object of that identity, being deleted or not."""
    return _first(
        unit,
        select(objects).where(
            objects.c.api_group == group,
            objects.c.kind == kind,
            objects.c.namespace == namespace,
            objects.c.name == name,
        ),
    )


def list_kind(
    unit: Unit,
    group: str,
    kind: str,
    *,
    namespace: str = "",
    names: Sequence[str] | None = None,
    after: tuple[str, str] | None = None,
    limit: int | None = None,
) -> list[Row]:
    """Objects of one kind by (namespace, name), after a position, at most `limit`."""
    query = select(objects).where(objects.c.api_group == group, objects.c.kind == kind)
    if namespace:
        query = query.where(objects.c.namespace == namespace)
    if names is not None:
        query = query.where(objects.c.name.in_(names))
    if after is not None:
        query = query.where(
            (objects.c.namespace > after[0])
            | ((objects.c.namespace == after[0]) & (objects.c.name > after[1]))
        )
    query = query.order_by(objects.c.namespace, objects.c.name)
    if limit is not None:
        query = query.limit(limit)
    return [dict(row) for row in unit.conn.execute(query).mappings()]


def list_namespace(unit: Unit, namespace: str, limit: int = 1) -> list[Row]:
    """Objects that live in a namespace, at most `limit`."""
    query = select(objects).where(objects.c.namespace == namespace).limit(limit)
    return [dict(row) for row in unit.conn.execute(query).mappings()]


def names_of(unit: Unit, group: str, kind: str, namespaces: Sequence[str]) -> set[tuple[str, str]]:
    """(namespace, name) of the objects of one kind in the given namespaces."""
    rows = unit.conn.execute(
        select(objects.c.namespace, objects.c.name).where(
            objects.c.api_group == group,
            objects.c.kind == kind,
            objects.c.namespace.in_(namespaces),
            objects.c.deleted_at.is_(None),
        )
    )
    return {(namespace, name) for namespace, name in rows}


def kinds(unit: Unit) -> list[tuple[str, str, int]]:
    """Kinds the hub holds objects of: (group, kind, how many)."""
    rows = unit.conn.execute(
        select(objects.c.api_group, objects.c.kind, func.count())
        .group_by(objects.c.api_group, objects.c.kind)
        .order_by(objects.c.api_group, objects.c.kind)
    )
    return [(group, kind, int(count)) for group, kind, count in rows]


def _first(unit: Unit, query: Select[Any]) -> Row | None:
    row = unit.conn.execute(query).mappings().first()
    return None if row is None else dict(row)

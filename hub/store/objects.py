"""Objects: a manifest of any kind the hub knows, except Jobs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Unpack

from sqlalchemy import bindparam, delete, func, literal, select, update

from hub.store import scoping
from hub.store.bulk import Bulk
from hub.store.dialect import CHUNK, Query
from hub.store.lookup import Lookup, Prepared
from hub.store.records.objects import ObjectColumns, StoredObject
from hub.store.tables import objects
from hub.store.transaction import Transaction
from shared.documents import JsonView

# All of one kind: asked several times in each edit of a queue, and building a query costs as much as it does.
_EVERY: Final = Prepared(
    select(objects)
    .where(objects.c.api_group == bindparam("group"), objects.c.kind == bindparam("kind"))
    .order_by(objects.c.namespace, objects.c.name)
)
_GET: Final = Prepared(select(objects).where(objects.c.uid == bindparam("uid")))
_FIND: Final = Prepared(
    select(objects).where(
        objects.c.api_group == bindparam("group"),
        objects.c.kind == bindparam("kind"),
        objects.c.namespace == bindparam("namespace"),
        objects.c.name == bindparam("name"),
    )
)
_SET_STATUS: Final = Bulk(
    update(objects)
    .where(objects.c.uid == bindparam("b_uid"))
    .values(status=bindparam("s", type_=objects.c.status.type))
)
_IDENTIFIED: Final = Lookup(
    lambda among: select(objects.c.namespace, objects.c.name, objects.c.uid).where(
        objects.c.api_group == bindparam("group"),
        objects.c.kind == bindparam("kind"),
        among(objects.c.namespace, objects.c.name),
    )
)


def add(tx: Transaction, row: StoredObject) -> None:
    """Insert one object."""
    tx.conn.execute(objects.insert(), row._asdict())
    tx.touch("objects", row.uid)


def change(tx: Transaction, uid: str, **columns: Unpack[ObjectColumns]) -> None:
    """Set columns of one object."""
    tx.conn.execute(update(objects).where(objects.c.uid == uid).values(dict(columns)))
    tx.touch("objects", uid)


def set_statuses(tx: Transaction, statuses: Mapping[str, JsonView | None]) -> None:
    """Set the status of objects by uid."""
    if not statuses:
        return
    _SET_STATUS.run(tx.conn, [{"b_uid": uid, "s": each} for uid, each in statuses.items()])
    tx.touch("objects", *statuses)


def remove(tx: Transaction, uid: str) -> None:
    """Delete one object's row."""
    tx.conn.execute(delete(objects).where(objects.c.uid == uid))
    tx.touch("objects", uid)


def get(tx: Transaction, uid: str) -> StoredObject | None:
    """One object by uid."""
    return next(map(StoredObject._make, _GET.rows(tx.conn, uid=uid)), None)


def get_many(tx: Transaction, uids: Iterable[str]) -> dict[str, StoredObject]:
    """Objects by uid; absent ones are left out."""
    every = list(uids)
    found: dict[str, StoredObject] = {}
    for start in range(0, len(every), CHUNK):
        query = select(objects).where(objects.c.uid.in_(every[start : start + CHUNK]))
        found.update((row[0], StoredObject._make(row)) for row in tx.conn.execute(query))
    return found


def find(tx: Transaction, group: str, kind: str, namespace: str, name: str) -> StoredObject | None:
    """The object of that identity, being deleted or not."""
    rows = _FIND.rows(tx.conn, group=group, kind=kind, namespace=namespace, name=name)
    return next(map(StoredObject._make, rows), None)


def uids_of(
    tx: Transaction, identities: Sequence[tuple[str, str, str, str]]
) -> dict[tuple[str, str, str, str], str]:
    """(group, kind, namespace, name) → uid of those that are there."""
    alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for group, kind, namespace, name in identities:
        alike.setdefault((group, kind), []).append((namespace, name))
    return {
        (group, kind, namespace, name): uid
        for (group, kind), names in alike.items()
        for namespace, name, uid in _IDENTIFIED.rows(tx.conn, names, group=group, kind=kind)
    }


def namespace_of(tx: Transaction, hub_cluster_uid: str) -> StoredObject | None:
    """The hub's Namespace that is the one of this uid on the hub cluster.

    A row that has not been seen there yet is known by its own uid.
    """
    c = objects.c
    there = func.coalesce(c.hub_cluster_uid, c.uid) == hub_cluster_uid
    return _first(tx, select(objects).where(c.kind == "Namespace", c.api_group == "", there))


def forget_hub_cluster_uids(tx: Transaction) -> None:
    """Of all Namespaces: take the first that is read on the hub cluster for the hub's."""
    seen = objects.c.hub_cluster_uid.is_not(None)
    uids = [uid for (uid,) in tx.conn.execute(select(objects.c.uid).where(seen))]
    tx.conn.execute(update(objects).where(seen).values(hub_cluster_uid=None))
    tx.touch("objects", *uids)


def list_kind(
    tx: Transaction,
    group: str,
    kind: str,
    *,
    namespace: str = "",
    names: Sequence[str] | None = None,
    after: tuple[str, str] | None = None,
    limit: int | None = None,
    shown: bool = False,
) -> list[StoredObject]:
    """Objects of one kind by (namespace, name), after a position, at most `limit`.

    `shown`: those that the caller may see.
    """
    if not namespace and names is None and after is None and limit is None and not shown:
        found = _EVERY.rows(tx.conn, group=group, kind=kind)
        return [StoredObject._make(row) for row in found]
    query = _of_kind(tx, select(objects), group, kind, namespace, after, limit, shown=shown)
    if names is not None:
        query = query.where(objects.c.name.in_(names))
    return [StoredObject._make(row) for row in tx.conn.execute(query)]


def sizes_of_kind(
    tx: Transaction,
    group: str,
    kind: str,
    namespace: str,
    after: tuple[str, str] | None,
    limit: int,
    *,
    shown: bool = False,
) -> list[int]:
    """Bytes that are stored of each of the objects which `list_kind` would read, in its order."""
    c = objects.c
    heavy = (c.manifest, c.spec, c.status, c.labels, c.annotations)
    size = sum((func.coalesce(func.length(column), 0) for column in heavy), literal(0))
    query = _of_kind(tx, select(size), group, kind, namespace, after, limit, shown=shown)
    return [int(each) for each in tx.conn.execute(query).scalars()]


def _of_kind(
    tx: Transaction,
    query: Query,
    group: str,
    kind: str,
    namespace: str,
    after: tuple[str, str] | None,
    limit: int | None,
    *,
    shown: bool,
) -> Query:
    query = query.where(objects.c.api_group == group, objects.c.kind == kind)
    if namespace:
        query = query.where(objects.c.namespace == namespace)
    if shown:
        query = query.where(*scoping.of_objects(tx))
    if after is not None:
        query = query.where(
            (objects.c.namespace > after[0])
            | ((objects.c.namespace == after[0]) & (objects.c.name > after[1]))
        )
    query = query.order_by(objects.c.namespace, objects.c.name)
    return query if limit is None else query.limit(limit)


def list_namespace(tx: Transaction, namespace: str, limit: int = 1) -> list[StoredObject]:
    """Objects that live in a namespace, at most `limit`."""
    query = select(objects).where(objects.c.namespace == namespace).limit(limit)
    return [StoredObject._make(row) for row in tx.conn.execute(query)]


def uids_of_kind(
    tx: Transaction, group: str, kind: str, among: Collection[str] | None = None
) -> list[str]:
    """The uids of the objects of one kind; `among`: those of them that are listed there."""
    c = objects.c
    query = select(c.uid).where(c.api_group == group, c.kind == kind)
    if among is None:
        return list(tx.conn.execute(query).scalars())
    every = list(among)
    found: list[str] = []
    for start in range(0, len(every), CHUNK):
        found += tx.conn.execute(query.where(c.uid.in_(every[start : start + CHUNK]))).scalars()
    return found


def names_by_others(tx: Transaction, group: str, kind: str, origin: str) -> frozenset[str]:
    """Names of the objects of one kind that did not come from `origin`, in all namespaces."""
    rows = tx.conn.execute(
        select(objects.c.name).where(
            objects.c.api_group == group,
            objects.c.kind == kind,
            objects.c.origin != origin,
            objects.c.deleted_at.is_(None),
        )
    )
    return frozenset(name for (name,) in rows)


def names_of(
    tx: Transaction, group: str, kind: str, namespaces: Sequence[str]
) -> set[tuple[str, str]]:
    """(namespace, name) of the objects of one kind in the given namespaces."""
    rows = tx.conn.execute(
        select(objects.c.namespace, objects.c.name).where(
            objects.c.api_group == group,
            objects.c.kind == kind,
            objects.c.namespace.in_(namespaces),
            objects.c.deleted_at.is_(None),
        )
    )
    return {(namespace, name) for namespace, name in rows}


def kinds(tx: Transaction) -> list[tuple[str, str, int]]:
    """Kinds the hub holds objects of that may be seen: (group, kind, how many)."""
    rows = tx.conn.execute(
        select(objects.c.api_group, objects.c.kind, func.count())
        .where(*scoping.of_objects(tx))
        .group_by(objects.c.api_group, objects.c.kind)
        .order_by(objects.c.api_group, objects.c.kind)
    )
    return [(group, kind, int(count)) for group, kind, count in rows]


def _first(tx: Transaction, query: Query) -> StoredObject | None:
    row = tx.conn.execute(query).first()
    return None if row is None else StoredObject._make(row)

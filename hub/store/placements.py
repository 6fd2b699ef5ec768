"""Placements' decisions: bindings (one per cluster) and snapshots of what is selected and how."""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import (
    Select,
    String,
    bindparam,
    cast,
    delete,
    func,
    insert as plain_insert,
    select,
)

from hub.store import scoping
from hub.store.bulk import Upsert
from hub.store.dialect import CHUNK, insert
from hub.store.lookup import Lookup, Prepared
from hub.store.records.objects import StoredObject
from hub.store.records.placements import (
    Binding,
    BoundBinding,
    StoredRevision,
    StoredSnapshot,
)
from hub.store.tables import bindings, contents, objects, snapshots, works
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView
from shared.groups import PLACEMENT

GROUP = PLACEMENT
KINDS = ("ClusterResourcePlacement", "ResourcePlacement")
RUNS = ("ClusterStagedUpdateRun", "StagedUpdateRun")
OVERRIDES = ("ClusterResourceOverride", "ResourceOverride")
_BEHIND: Final = Lookup(
    lambda among: select(works.c.placed_by, works.c.cluster).where(
        works.c.placed_by != "", among(works.c.cluster, works.c.uid)
    )
)


_BINDINGS: Final = Prepared(
    select(*(bindings.c[name] for name in Binding._fields))
    .where(bindings.c.placement == bindparam("placement"))
    .order_by(bindings.c.cluster)
)
_BIND: Final = Upsert(bindings, ("placement", "cluster"), kept=("bound_at",))
_LATEST: Final = Prepared(
    select(snapshots.c.index, snapshots.c.hash)
    .where(snapshots.c.placement == bindparam("placement"), snapshots.c.part == bindparam("part"))
    .order_by(snapshots.c.index.desc())
    .limit(1)
)


def list_all(tx: Transaction) -> list[StoredObject]:
    """Every placement of both kinds, those being deleted too."""
    query = select(objects).where(objects.c.api_group == GROUP, objects.c.kind.in_(KINDS))
    return [StoredObject._make(row) for row in tx.conn.execute(query)]


def uids(tx: Transaction) -> set[str]:
    """Of every placement of both kinds."""
    query = select(objects.c.uid).where(objects.c.api_group == GROUP, objects.c.kind.in_(KINDS))
    return set(tx.conn.execute(query).scalars())


def list_runs(tx: Transaction, limit: int | None = None) -> list[StoredObject]:
    """Staged update runs of both kinds, those that are over too, the newest first."""
    query = select(objects).where(objects.c.api_group == GROUP, objects.c.kind.in_(RUNS))
    query = query.where(*scoping.of_objects(tx))
    query = query.order_by(objects.c.created_at.desc(), objects.c.name.desc()).limit(limit)
    return [StoredObject._make(row) for row in tx.conn.execute(query)]


def behind_newest(tx: Transaction, limit: int) -> list[str]:
    """Uids of placements of which some chosen cluster has not been given the newest version."""
    newest = (
        select(snapshots.c.placement, func.max(snapshots.c.index).label("index"))
        .where(snapshots.c.part == "resources")
        .group_by(snapshots.c.placement)
        .subquery()
    )
    query = (
        select(bindings.c.placement)
        .join(newest, newest.c.placement == bindings.c.placement)
        .where(
            bindings.c.selected.is_(True),
            bindings.c.policy_snapshot != "job",
            bindings.c.resource_snapshot != cast(newest.c.index, String),
            *([] if tx.scope.is_everything else [bindings.c.placement.in_(_shown(tx))]),
        )
        .distinct()
        .order_by(bindings.c.placement)
        .limit(limit)
    )
    return list(tx.conn.execute(query).scalars())


def _shown(tx: Transaction) -> Select[tuple[str]]:
    """Uids of the placements that the caller may see."""
    return select(objects.c.uid).where(objects.c.api_group == GROUP, *scoping.of_objects(tx))


def override_uids(tx: Transaction) -> set[str]:
    """Overrides of both kinds."""
    query = select(objects.c.uid).where(
        objects.c.api_group == GROUP, objects.c.kind.in_(OVERRIDES)
    )
    return set(tx.conn.execute(query).scalars())


def behind_works(tx: Transaction, keys: Iterable[str]) -> dict[str, set[str]]:
    """Uids of the placements that caused the works behind feed keys, with the clusters of these works."""
    found: dict[str, set[str]] = {}
    pairs = [(cluster, uid) for cluster, _, uid in (each.partition("/") for each in keys)]
    for placement, cluster in _BEHIND.rows(tx.conn, pairs):
        found.setdefault(placement, set()).add(cluster)
    return found


def bindings_of(tx: Transaction, placement: str) -> list[Binding]:
    """The decisions of one placement by cluster."""
    return [Binding._make(row) for row in _BINDINGS.rows(tx.conn, placement=placement)]


def bindings_by_placement(tx: Transaction, uids: Iterable[str]) -> dict[str, list[Binding]]:
    """The decisions of several placements, by placement."""
    every, found = sorted(uids), dict[str, list[Binding]]()
    for start in range(0, len(every), CHUNK):
        query = select(*(bindings.c[name] for name in Binding._fields))
        query = query.where(bindings.c.placement.in_(every[start : start + CHUNK]))
        for row in tx.conn.execute(query.order_by(bindings.c.placement, bindings.c.cluster)):
            each = Binding._make(row)
            found.setdefault(each.placement, []).append(each)
    return found


def bound_to(tx: Transaction, cluster: str) -> list[Binding]:
    """The decisions of all placements for one cluster, where it is chosen."""
    query = select(*(bindings.c[name] for name in Binding._fields))
    query = query.where(bindings.c.cluster == cluster, bindings.c.selected.is_(True))
    return [Binding._make(row) for row in tx.conn.execute(query.order_by(bindings.c.placement))]


def list_bound(
    tx: Transaction, placement: str, cluster: str, after: tuple[str, str] | None, limit: int
) -> list[BoundBinding]:
    """Decisions with their age by (placement, cluster), after a position, at most `limit`.

    `placement` (uid), `cluster`: of that one alone, unless "".
    """
    c = bindings.c
    query = select(*(c[name] for name in Binding._fields), c.bound_at)
    if not tx.scope.is_everything:
        query = query.where(c.placement.in_(_shown(tx)))
    if placement:
        query = query.where(c.placement == placement)
    if cluster:
        query = query.where(c.cluster == cluster)
    if after is not None:
        later = (c.placement == after[0]) & (c.cluster > after[1])
        query = query.where((c.placement > after[0]) | later)
    query = query.order_by(c.placement, c.cluster).limit(limit)
    return [BoundBinding(Binding._make(row[:-1]), row[-1]) for row in tx.conn.execute(query)]


def bind(tx: Transaction, decisions: Sequence[Binding]) -> None:
    """Insert or replace decisions; `bound_at` of one that stands is kept."""
    if not decisions:
        return
    _BIND.run(tx.conn, [{**each._asdict(), "bound_at": tx.now} for each in decisions])
    tx.touch("bindings", *{binding.placement for binding in decisions})


def unbind(tx: Transaction, placement: str, clusters: Sequence[str]) -> None:
    """Remove decisions."""
    if not clusters:
        return
    tx.conn.execute(
        delete(bindings).where(bindings.c.placement == placement, bindings.c.cluster.in_(clusters))
    )
    tx.touch("bindings", placement)


def latest_snapshot(tx: Transaction, placement: str, part: str) -> StoredSnapshot | None:
    """The newest revision of `part`: policy or resources."""
    rows = _LATEST.rows(tx.conn, placement=placement, part=part)
    return next(map(StoredSnapshot._make, rows), None)


def history(tx: Transaction, placement: str, part: str) -> list[tuple[int, JsonView, dt.datetime]]:
    """Every revision that is kept, the newest first: (index, content, since when)."""
    c = snapshots.c
    query = select(c.index, c.content, c.created_at)
    query = query.where(c.placement == placement, c.part == part).order_by(c.index.desc())
    return [(number, content, at) for number, content, at in tx.conn.execute(query)]


def get_snapshot(tx: Transaction, placement: str, part: str, index: int) -> JsonView | None:
    """The content of one revision; None if it is not kept."""
    c = snapshots.c
    query = select(c.content).where(c.placement == placement, c.part == part, c.index == index)
    content: JsonView | None = tx.conn.execute(query).scalar()
    return content


def revisions(tx: Transaction, placement: str, part: str) -> list[StoredRevision]:
    """The same with their hashes."""
    c = snapshots.c
    query = select(c.index, c.hash, c.content, c.created_at)
    query = query.where(c.placement == placement, c.part == part).order_by(c.index.desc())
    return [StoredRevision._make(row) for row in tx.conn.execute(query)]


def revisions_of(
    tx: Transaction, uids: Sequence[str], parts: Sequence[str]
) -> list[tuple[str, str, StoredRevision]]:
    """(placement, part, revision) of several placements, the newest first."""
    c = snapshots.c
    found: list[tuple[str, str, StoredRevision]] = []
    for start in range(0, len(uids), CHUNK):
        query = select(c.placement, c.part, c.index, c.hash, c.content, c.created_at).where(
            c.placement.in_(uids[start : start + CHUNK]), c.part.in_(parts)
        )
        rows = tx.conn.execute(query.order_by(c.placement, c.part, c.index.desc()))
        found += [(row[0], row[1], StoredRevision._make(row[2:])) for row in rows]
    return found


def bound_of(tx: Transaction, uids: Sequence[str]) -> list[BoundBinding]:
    """Decisions of several placements, with their age, by cluster."""
    c = bindings.c
    found: list[BoundBinding] = []
    for start in range(0, len(uids), CHUNK):
        query = select(*(c[name] for name in Binding._fields), c.bound_at)
        query = query.where(c.placement.in_(uids[start : start + CHUNK])).order_by(c.cluster)
        found += [BoundBinding(Binding._make(row[:-1]), row[-1]) for row in tx.conn.execute(query)]
    return found


def among(tx: Transaction, uids: Sequence[str]) -> set[str]:
    """Those of `uids` that are placements."""
    found: set[str] = set()
    for start in range(0, len(uids), CHUNK):
        query = select(objects.c.uid).where(
            objects.c.uid.in_(uids[start : start + CHUNK]),
            objects.c.api_group == GROUP,
            objects.c.kind.in_(KINDS),
        )
        found.update(tx.conn.execute(query).scalars())
    return found


def add_snapshot(
    tx: Transaction,
    placement: str,
    part: str,
    index: int,
    hashed: str,
    content: object,
    keep: int,
    used: Collection[int] = (),
) -> None:
    """Add a revision; only the newest `keep` stay, and those that are `used`."""
    tx.conn.execute(
        plain_insert(snapshots).values(
            placement=placement,
            part=part,
            index=index,
            hash=hashed,
            content=content,
            created_at=tx.now,
        )
    )
    tx.conn.execute(
        delete(snapshots).where(
            snapshots.c.placement == placement,
            snapshots.c.part == part,
            snapshots.c.index <= index - keep,
            snapshots.c.index.not_in(used),
        )
    )


def add_contents(tx: Transaction, placement: str, found: Mapping[str, JsonView]) -> None:
    """Keep manifests by their hashes; those that are kept stay as they are."""
    if not found:
        return
    tx.conn.execute(
        insert(tx.conn, contents).on_conflict_do_nothing(),
        [
            {"placement": placement, "hash": hashed, "manifest": each, "created_at": tx.now}
            for hashed, each in found.items()
        ],
    )


def known_contents(tx: Transaction, placement: str) -> set[str]:
    """The hashes of what is kept for one placement."""
    query = select(contents.c.hash).where(contents.c.placement == placement)
    return set(tx.conn.execute(query).scalars())


def get_contents(tx: Transaction, placement: str, hashes: Iterable[str]) -> dict[str, Json]:
    """Manifests by their hashes; absent ones are left out."""
    every, found = list(hashes), dict[str, Json]()
    for start in range(0, len(every), CHUNK):
        query = select(contents.c.hash, contents.c.manifest).where(
            contents.c.placement == placement,
            contents.c.hash.in_(every[start : start + CHUNK]),
        )
        found.update((hashed, manifest) for hashed, manifest in tx.conn.execute(query))
    return found


def drop_contents(tx: Transaction, placement: str, hashes: Iterable[str]) -> None:
    """Forget manifests that nothing refers to any more."""
    every = list(hashes)
    for start in range(0, len(every), CHUNK):
        tx.conn.execute(
            delete(contents).where(
                contents.c.placement == placement,
                contents.c.hash.in_(every[start : start + CHUNK]),
            )
        )


def forget(tx: Transaction, placement: str) -> None:
    """Remove everything about a placement that is gone."""
    tx.conn.execute(delete(bindings).where(bindings.c.placement == placement))
    tx.conn.execute(delete(snapshots).where(snapshots.c.placement == placement))
    tx.conn.execute(delete(contents).where(contents.c.placement == placement))
    tx.touch("bindings", placement)

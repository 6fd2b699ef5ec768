"""Submitted Jobs, immutable, one row per generation; and the shapes that equal jobs share."""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import delete, func, select

from hub.store.bulk import Bulk
from hub.store.dialect import CHUNK, insert
from hub.store.lookup import Lookup
from hub.store.tables import manifests, shapes, workloads
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView

_ADD: Final = Bulk.insert(manifests)
_SHAPES: Final = Lookup(
    lambda among: select(shapes.c.hash, shapes.c.pod_sets).where(among(shapes.c.hash))
)


def add(tx: Transaction, rows: Sequence[JsonView]) -> None:
    """Insert manifests: uid, generation, manifest (JSON bytes), hash, form (JSON; None of a Job)."""
    _ADD.run(tx.conn, rows)


def latest(tx: Transaction, uid: str) -> tuple[int, bytes, str] | None:
    """The newest generation of one job: (generation, JSON bytes, hash)."""
    row = tx.conn.execute(
        select(manifests)
        .where(manifests.c.uid == uid)
        .order_by(manifests.c.generation.desc())
        .limit(1)
    ).first()
    return None if row is None else (row.generation, row.manifest, row.hash)


def latest_form(tx: Transaction, uid: str) -> Json | None:
    """The form in which a member gets the newest generation of one job; None of a Job."""
    c = manifests.c
    query = select(c.form).where(c.uid == uid).order_by(c.generation.desc()).limit(1)
    found: Json | None = tx.conn.execute(query).scalar()
    return found


def latest_of(tx: Transaction, uids: Sequence[str]) -> dict[str, bytes]:
    """The newest manifest of each job, as JSON bytes."""
    found: dict[str, bytes] = {}
    for start in range(0, len(uids), CHUNK):
        rows = tx.conn.execute(
            select(manifests.c.uid, manifests.c.manifest)
            .where(manifests.c.uid.in_(uids[start : start + CHUNK]))
            .order_by(manifests.c.generation)
        )
        found.update((uid, value) for uid, value in rows)
    return found


def remove(tx: Transaction, uids: Sequence[str]) -> None:
    """Forget all generations of the given jobs."""
    for start in range(0, len(uids), CHUNK):
        tx.conn.execute(delete(manifests).where(manifests.c.uid.in_(uids[start : start + CHUNK])))


def add_shapes(tx: Transaction, found: JsonView) -> None:
    """Insert shapes (hash → pod sets as JSON) that are not there yet."""
    known = tx.remembered("shapes", "known", set[str])
    found = {hashed: pod_sets for hashed, pod_sets in found.items() if hashed not in known}
    if not found:
        return
    known.update(found)
    tx.conn.execute(
        insert(tx.conn, shapes).on_conflict_do_nothing(),
        [
            {"hash": hashed, "pod_sets": pod_sets, "created_at": tx.now}
            for hashed, pod_sets in found.items()
        ],
    )


def get_shapes(tx: Transaction, wanted: Iterable[str]) -> Json:
    """Pod sets as JSON, by hash; absent ones are left out."""
    return dict(_SHAPES.rows(tx.conn, wanted))


def trim_shapes(tx: Transaction, before: dt.datetime) -> int:
    """Delete shapes older than `before` that no workload has any more; how many."""
    used = select(workloads.c.shape).where(workloads.c.shape == shapes.c.hash).exists()
    done = tx.conn.execute(delete(shapes).where(shapes.c.created_at < before, ~used)).rowcount
    if done:
        tx.touch("shapes", "*")
    return done


def every_shape(tx: Transaction, most: int) -> list[Any] | None:
    """Pod sets as JSON of all shapes; None where there are more than `most`."""
    if count_shapes(tx) > most:
        return None
    return list(tx.conn.execute(select(shapes.c.pod_sets)).scalars())


def count_shapes(tx: Transaction) -> int:
    """The number of kept shapes."""
    return int(tx.conn.execute(select(func.count()).select_from(shapes)).scalar() or 0)

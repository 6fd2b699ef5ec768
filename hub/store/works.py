"""Works: what each member cluster should hold of each job and object, and what its agent said of it,
drift included: `observe` writes it, `hub.store.work_pages` lists it.

A row is keyed (cluster, uid). Changes of what is desired touch `works`, changes of what is observed
touch `observed`; both by the key `<cluster>/<uid>`, so that the agents' index need not read a row
again for every state that a member reports.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, TypeVar

from sqlalchemy import (
    LargeBinary,
    Update,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    type_coerce,
    update,
)

from hub.store.bulk import Bulk, Upsert
from hub.store.dialect import CHUNK
from hub.store.lookup import Lookup, Prepared
from hub.store.records.works import (
    Composable,
    Desired,
    ObservedWork,
    OptionedWork,
    StandingWork,
    WantedWork,
    Work,
)
from hub.store.tables import contents, manifests, objects, workloads, works
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView

T = TypeVar("T")


_FRESH: Json = {
    "action": "Apply",
    "hash": "",
    "offered": False,
    "seen": False,
    "phase": "",
    "observed_generation": 0,
    "observed": None,
    "drift": None,
    "reason": "",
    "message": "",
    "available": None,
    "observed_at": None,
    "content": "",
}
_DESIRED = (
    works.c.cluster,
    works.c.uid,
    works.c.epoch,
    works.c.generation,
    works.c.action,
    works.c.hash,
    works.c.offered,
)

_OF_WORKLOAD = ("state", "epoch", "withdraw_to", "reason", "message", "succeeded", "failed",
                "active", "ready", "parallelism", "completions")  # fmt: skip
_STANDING = Lookup(
    lambda among: (
        select(
            *(works.c[name] for name in StandingWork._fields[:10]),
            *(type_coerce(works.c[name], LargeBinary) for name in ("observed", "drift")),
            *(workloads.c[name] for name in _OF_WORKLOAD),
            and_(workloads.c.pods_ready_at.is_not(None), workloads.c.pods_lost_at.is_(None)),
            *(
                type_coerce(workloads.c[name], LargeBinary)
                for name in ("annotations", "set_aside")
            ),
            workloads.c.started_at,
            workloads.c.cluster,
            workloads.c.unstarted,
            type_coerce(workloads.c.admission, LargeBinary),
            workloads.c.retries,
            workloads.c.retry_epoch,
        )
        .select_from(works)
        .outerjoin(workloads, workloads.c.uid == works.c.uid)
        .where(works.c.cluster == bindparam("cluster"), among(works.c.uid))
    )
)
_COMPOSABLE = Lookup(
    lambda among: (
        select(
            *(works.c[name] for name in Composable._fields[:14]),
            manifests.c.manifest,
            manifests.c.hash,
            workloads.c.queue,
            workloads.c.state,
            workloads.c.epoch,
            workloads.c.ttl_s,
            objects.c.manifest,
            objects.c.hash,
            func.coalesce(
                workloads.c.annotations, objects.c.annotations, type_=objects.c.annotations.type
            ),
            works.c.content,
            contents.c.manifest,
            manifests.c.form,
        )
        .select_from(works)
        .outerjoin(workloads, workloads.c.uid == works.c.uid)
        .outerjoin(
            manifests,
            and_(manifests.c.uid == works.c.uid, manifests.c.generation == works.c.generation),
        )
        .outerjoin(objects, objects.c.uid == works.c.uid)
        .outerjoin(
            contents,
            and_(contents.c.placement == works.c.placed_by, contents.c.hash == works.c.content),
        )
        .where(works.c.cluster == bindparam("cluster"), among(works.c.uid))
    )
)
_WHOLE = Lookup(lambda among: select(works).where(among(works.c.cluster, works.c.uid)))
_OF_UIDS = Lookup(lambda among: select(works).where(among(works.c.uid)))
_OF_PLACEMENT = Prepared(select(works).where(works.c.placed_by == bindparam("placement")))
_DESIRED_OF = Lookup(
    lambda among: select(*_DESIRED).where(
        works.c.cluster == bindparam("cluster"), among(works.c.uid)
    )
)
_OBSERVED = ("observed_generation", "phase", "observed", "drift", "reason", "message", "available",
             "seen", "observed_at")  # fmt: skip
_RENEWED = ("generation", "api_version", "hash", "options", "action", "placed_by", "content")


def _of_row(*names: str) -> Update:
    """UPDATE of the named columns of the row (cluster, uid)."""
    return (
        update(works)
        .where(works.c.cluster == bindparam("b_cluster"), works.c.uid == bindparam("b_uid"))
        .values({name: bindparam(f"b_{name}", type_=works.c[name].type) for name in names})
    )


_RENEW = Bulk(_of_row(*_RENEWED))
_OFFER = Bulk(_of_row("offered", "options", "hash"))
_REOPTION = Bulk(_of_row("options", "hash"))
_OBSERVE = Bulk(_of_row(*_OBSERVED))
_ACT = Bulk(_of_row("action"))
_REMOVE = Bulk(
    delete(works).where(
        works.c.cluster == bindparam("b_cluster"), works.c.uid == bindparam("b_uid")
    )
)
_UPSERT: Final = Upsert(works, ("cluster", "uid"), kept=("created_at",), defaults=_FRESH)


def key(cluster: str, uid: str) -> str:
    """The key of a row in the change feed."""
    return f"{cluster}/{uid}"


def upsert(tx: Transaction, rows: Sequence[WantedWork]) -> None:
    """Give clusters something to hold: new rows, or a new epoch, generation or option of old ones.

    Observations of an earlier epoch are forgotten.
    """
    if not rows:
        return
    _UPSERT.run(tx.conn, [{**row, "created_at": tx.now} for row in rows])
    tx.touch("works", *(key(row["cluster"], row["uid"]) for row in rows))


def renew(tx: Transaction, rows: Sequence[WantedWork]) -> None:
    """Set generation, version, hash, options, action, content and whose it is; the observed state stays."""
    if not rows:
        return
    _RENEW.run(tx.conn, [_bound(row, _RENEWED) for row in rows])
    tx.touch("works", *(key(row["cluster"], row["uid"]) for row in rows))


def follow_generation(tx: Transaction, uid: str, generation: int) -> None:
    """A job's mutable fields changed: the clusters that hold it get the newer generation."""
    rows = tx.conn.execute(
        update(works)
        .where(works.c.uid == uid, works.c.action == "Apply")
        .values(generation=generation)
        .returning(works.c.cluster)
    )
    tx.touch("works", *(key(row.cluster, uid) for row in rows))


def follow_epoch(tx: Transaction, cluster: str, uid: str, epoch: int) -> None:
    """A work is of a later epoch: the one that its member has since before the store was restored."""
    here = (works.c.cluster == cluster, works.c.uid == uid, works.c.epoch < epoch)
    tx.conn.execute(update(works).where(*here).values(epoch=epoch))
    tx.touch("works", key(cluster, uid))


def all_desired(tx: Transaction) -> list[Desired]:
    """Every row, as the index of desired sets needs it."""
    return [Desired._make(row) for row in tx.conn.execute(select(*_DESIRED)).all()]


def desired(tx: Transaction, keys: Iterable[str]) -> list[Desired]:
    """The rows behind feed keys; absent ones are left out."""
    return [
        Desired._make(row)
        for cluster, uids in _by_cluster(keys).items()
        for row in _DESIRED_OF.rows(tx.conn, uids, cluster=cluster)
    ]


def composable(tx: Transaction, cluster: str, uids: Sequence[str]) -> list[Composable]:
    """Rows of one cluster with the manifests they are composed from."""
    return [Composable._make(row) for row in _COMPOSABLE.rows(tx.conn, uids, cluster=cluster)]


def standing(tx: Transaction, cluster: str, uids: Sequence[str]) -> dict[str, StandingWork]:
    """Rows of one cluster by uid, each with the workload it belongs to."""
    rows = _STANDING.rows(tx.conn, uids, cluster=cluster)
    return {row[0]: StandingWork._make(row) for row in rows}


def offer(tx: Transaction, rows: Sequence[OptionedWork]) -> None:
    """Mark rows offered, with the options that now stand for their epoch."""
    if not rows:
        return
    _OFFER.run(tx.conn, [{**_bound(row, ("options", "hash")), "b_offered": True} for row in rows])
    tx.touch("works", *(key(row["cluster"], row["uid"]) for row in rows))


def reoption(tx: Transaction, rows: Sequence[OptionedWork]) -> None:
    """Change the options of an epoch."""
    if not rows:
        return
    _REOPTION.run(tx.conn, [_bound(row, ("options", "hash")) for row in rows])
    tx.touch("works", *(key(row["cluster"], row["uid"]) for row in rows))


def observe(tx: Transaction, rows: Sequence[ObservedWork]) -> None:
    """Store what agents said of their works."""
    if not rows:
        return
    _OBSERVE.run(tx.conn, [_bound({"observed_at": tx.now, **row}, _OBSERVED) for row in rows])
    tx.touch("observed", *(key(row["cluster"], row["uid"]) for row in rows))


def act(tx: Transaction, action: str, keys: Sequence[tuple[str, str]]) -> None:
    """Set the action of rows (cluster, uid): Keep or Withdraw."""
    if not keys:
        return
    _ACT.run(
        tx.conn,
        [{"b_cluster": cluster, "b_uid": uid, "b_action": action} for cluster, uid in keys],
    )
    tx.touch("works", *(key(*each) for each in keys))


def remove(tx: Transaction, keys: Sequence[tuple[str, str]]) -> None:
    """Forget rows (cluster, uid): the member holds nothing of them any more."""
    if not keys:
        return
    _REMOVE.run(tx.conn, [{"b_cluster": cluster, "b_uid": uid} for cluster, uid in keys])
    touched = [key(*each) for each in keys]
    tx.touch("works", *touched)
    tx.touch("observed", *touched)


def of_uids(tx: Transaction, uids: Sequence[str]) -> list[Work]:
    """Works of jobs or objects, in whichever clusters."""
    return [Work._make(row) for row in _OF_UIDS.rows(tx.conn, uids)]


def of_keys(tx: Transaction, keys: Iterable[tuple[str, str]]) -> list[Work]:
    """Works by (cluster, uid); absent ones are left out."""
    return [Work._make(row) for row in _WHOLE.rows(tx.conn, keys)]


def uids_of(tx: Transaction, cluster: str) -> list[str]:
    """Uids of everything that one cluster should hold."""
    return list(tx.conn.execute(select(works.c.uid).where(works.c.cluster == cluster)).scalars())


def named(tx: Transaction, cluster: str, namespace: str, name: str) -> list[Work]:
    """Works of one cluster for objects and Jobs of this name, whatever their kinds."""
    c = works.c
    query = select(works).where(c.cluster == cluster, c.namespace == namespace, c.name == name)
    return [Work._make(row) for row in tx.conn.execute(query)]


def clusters_holding(
    tx: Transaction, group: str, kind: str, places: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[str]]:
    """The clusters with a work for an object of these namespaces and names, by that.

    Without those that an administrator abandons as left objects: such an object may stay.
    """
    c = works.c
    query = select(c.namespace, c.name, c.cluster).distinct().order_by(c.cluster)
    of_kind = c.epoch == 0, c.kind == kind, c.api_version.startswith(f"{group}/", autoescape=True)
    query = query.where(*of_kind, or_(c.action != "Keep", c.placed_by != ""))
    found: dict[tuple[str, str], list[str]] = {}
    for chunk in chunks(sorted({name for _, name in places})):
        for namespace, name, cluster in tx.conn.execute(query.where(c.name.in_(chunk))):
            if (namespace, name) in places:
                found.setdefault((namespace, name), []).append(cluster)
    return found


def clusters_used(
    tx: Transaction, namespaces: Collection[str], among: Collection[str]
) -> dict[str, list[str]]:
    """By namespace, those of the clusters that have a work there, in order."""
    c = works.c
    found: dict[str, list[str]] = {}
    query = select(c.namespace, c.cluster).distinct().order_by(c.cluster)
    for chunk in chunks(sorted(among)):
        for namespace, cluster in tx.conn.execute(query.where(c.cluster.in_(chunk))):
            if namespace in namespaces:
                found.setdefault(namespace, []).append(cluster)
    return found


def of_placement(tx: Transaction, placement: str) -> list[Work]:
    """Works that one placement caused."""
    return [Work._make(row) for row in _OF_PLACEMENT.rows(tx.conn, placement=placement)]


def not_standing(tx: Transaction, placements: Sequence[str]) -> set[tuple[str, str]]:
    """(placement, cluster) where something is not applied as it is now, or not available, as last told."""
    c = works.c
    found: set[tuple[str, str]] = set()
    for chunk in chunks(placements):
        behind = c.observed_generation < c.generation
        query = select(c.placed_by, c.cluster).where(
            c.placed_by.in_(chunk),
            c.action == "Apply",
            c.epoch == 0,
            or_(c.phase != "Applied", behind, c.available.is_(False)),
        )
        found.update((row.placed_by, row.cluster) for row in tx.conn.execute(query.distinct()))
    return found


def of_placements(tx: Transaction, placements: Sequence[str]) -> list[Work]:
    """Works that some placements caused, by cluster and name."""
    c = works.c
    found: list[Work] = []
    for chunk in chunks(placements):
        query = select(works).where(c.placed_by.in_(chunk))
        query = query.order_by(c.cluster, c.api_version, c.kind, c.namespace, c.name)
        found += [Work._make(row) for row in tx.conn.execute(query)]
    return found


def placed_in(tx: Transaction, cluster: str) -> list[Work]:
    """Works in one cluster that placements caused, Jobs aside."""
    c = works.c
    query = select(works).where(c.cluster == cluster, c.placed_by != "", c.epoch == 0)
    return [Work._make(row) for row in tx.conn.execute(query)]


def in_namespaces(tx: Transaction, places: Iterable[tuple[str, str]]) -> list[Work]:
    """Works for objects and Jobs in namespaces: (cluster, namespace) each."""
    c = works.c
    by_cluster: dict[str, list[str]] = {}
    for cluster, namespace in sorted(places):
        by_cluster.setdefault(cluster, []).append(namespace)
    return [
        Work._make(row)
        for cluster, names in by_cluster.items()
        for chunk in chunks(names)
        for row in tx.conn.execute(
            select(works).where(c.cluster == cluster, c.namespace.in_(chunk))
        )
    ]


def chunks(values: Iterable[T]) -> Iterable[list[T]]:
    """`values` in pieces that one statement can bind."""
    whole = list(values)
    return (whole[start : start + CHUNK] for start in range(0, len(whole), CHUNK))


def _bound(row: JsonView, names: Iterable[str]) -> Json:
    """Parameters of a statement about the row (cluster, uid)."""
    return {f"b_{name}": row[name] for name in ("cluster", "uid", *names)}


def _by_cluster(keys: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in keys:
        cluster, _, uid = each.partition("/")
        found.setdefault(cluster, []).append(uid)
    return found

"""A store with placements, members and what they hold, and one reconciliation at a time."""

import datetime as dt
from typing import Any

from hub.services.placements.fleet import read_fleet
from hub.services.placements.reconcile import reconcile
from hub.services.placements.status import reconcile_with_status
from hub.store import clusters, leases, objects, workloads, works
from hub.store.engine import Database
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.groups import KUEUE
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from tests.store.build import (
    START,
    a_member,
    an_object,
    call,
)

CONFIGS = {"group": "", "version": "v1", "kind": "ConfigMap"}
JOBS = {"group": "batch", "version": "v1", "kind": "Job"}
AT = "2026-03-01T12:00:00Z"
ONE = {"placementType": "PickN", "numberOfClusters": 1}


def a_placement(uid: str = "p", *selectors: Json, **given: Any) -> StoredObject:
    """A ResourcePlacement of ConfigMaps, or of what is selected; `policy`, `strategy`."""
    spec = {
        "resourceSelectors": list(selectors) or [CONFIGS],
        "policy": given.pop("policy", {"placementType": "PickAll"}),
        "strategy": given.pop("strategy", {}),
    }
    return an_object(uid, api_group=PLACEMENT, kind="ResourcePlacement", spec=spec, **given)


def placed_queue(namespace: str = "team-a") -> list[StoredObject]:
    """ClusterQueue `default`, which a placement selects, and a LocalQueue that leads there."""
    selects = {"group": KUEUE, "version": "v1beta2", "kind": "ClusterQueue", "name": "default"}
    none = {"placementType": "PickFixed", "clusterNames": []}
    chosen: Json = {"resourceSelectors": [selects], "policy": none}
    of = {"api_group": KUEUE, "name": "default"}
    return [
        an_object("cq", kind="ClusterQueue", namespace="", spec={}, **of),
        an_object(
            "lq", kind="LocalQueue", spec={"clusterQueue": "default"}, namespace=namespace, **of
        ),
        an_object(
            "queues",
            api_group=PLACEMENT,
            kind="ClusterResourcePlacement",
            namespace="",
            spec=chosen,
        ),
    ]


async def fill(db: Database, *rows: StoredObject, jobs: tuple[Workload, ...] = ()) -> None:
    """Members `north` and `south`, a leader, these objects and Jobs."""

    def run(tx: Transaction) -> None:
        leases.take(tx, "leader", dt.timedelta(hours=1))
        for name in ("north", "south"):
            clusters.add(tx, a_member(name, joined_at=START, heartbeat_at=tx.now))
            clusters.set_capacity(tx, name, b'{"pools_revision":0,"pools":[],"bound":[]}')
        for row in (*rows, *(placed_queue() if jobs else ())):
            objects.add(tx, row)
        workloads.add(tx, jobs)

    await db.write(run)


async def reconciled(db: Database, uid: str = "p") -> None:
    await db.write(lambda tx: reconcile(tx, uid, read_fleet(tx), 1))


async def with_status(db: Database, uid: str = "p") -> Json:
    """The status after reconciling, without its conditions."""
    await db.write(lambda tx: reconcile_with_status(tx, uid, read_fleet(tx), 1))
    row = await db.read(call(objects.get, uid))
    assert row is not None
    return row.status or {}


async def standing(db: Database, *uids: str) -> dict[tuple[str, str], Work]:
    return {(w.cluster, w.uid): w for w in await db.read(call(works.of_uids, uids))}


def observed(cluster: str, uid: str, **said: Any) -> Any:
    return {
        "cluster": cluster,
        "uid": uid,
        "observed_generation": 1,
        "phase": "Applied",
        "observed": {"member_generation": 7},
        "drift": None,
        "reason": "",
        "message": "",
        "available": True,
        "seen": True,
        **said,
    }

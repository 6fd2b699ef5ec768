"""Member clusters as people see them: state, room, pools, and what is left of earlier times."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from hub.domain.fleet.clusters import Cluster
from hub.domain.instants import stamp
from hub.services.context.settings import Settings
from hub.services.index import pool_keys
from hub.services.index.fleet import read_member, state_of
from hub.services.members import forgotten
from hub.store import clusters, jobs
from hub.store.transaction import Transaction
from shared import quantity
from shared.errors import Rejected
from shared.reject_codes import RejectCode

Row = dict[str, Any]


def get_cluster(tx: Transaction, name: str, settings: Settings) -> Row:
    """One member with pools and room. Raises Rejected: NotFound."""
    row = find_cluster(tx, name)
    capacity = clusters.get_capacities(tx, [name]).get(name)
    held = jobs.count_by_cluster(tx).get(name, 0)
    reserved = jobs.reserved_by_cluster(tx).get(name, {})
    since = pool_keys.load(tx).since
    left = forgotten.of(tx, name)
    view = _view(row, capacity, held, reserved, tx.now, settings, since)
    return view | {"leftovers": len(left), "leftoverJobs": left}


def list_clusters(tx: Transaction, settings: Settings) -> Row:
    """All members: {"items"}."""
    capacities = clusters.get_capacities(tx)
    held = jobs.count_by_cluster(tx)
    reserved = jobs.reserved_by_cluster(tx)
    since = pool_keys.load(tx).since
    left = forgotten.counts(tx)
    return {
        "items": [
            _view(
                row,
                capacities.get(row["name"]),
                held.get(row["name"], 0),
                reserved.get(row["name"], {}),
                tx.now,
                settings,
                since,
            )
            | {"leftovers": left.get(row["name"], 0)}
            for row in clusters.list_all(tx)
        ]
    }


def _view(
    row: Row,
    capacity: tuple[bytes, dt.datetime] | None,
    held: int,
    reserved: Mapping[str, int],
    now: dt.datetime,
    settings: Settings,
    key_revisions: Mapping[str, int],
) -> Row:
    told, cluster = read_member(row, None if capacity is None else capacity[0], key_revisions)
    state = state_of(row, now, settings.scheduling.suspect_after_s, cluster.down)
    return {
        "name": row["name"],
        "state": state,
        "ready": state in {"Ready", "Cordoned"} and told is not None,
        "message": _why(state, cluster),
        "cordoned": row["cordoned"],
        "labels": row["labels"],
        "taints": row["taints"],
        "jobs": held,
        "nodeCount": cluster.node_count,
        "kubernetesVersion": (told or {}).get("kubernetes_version", ""),
        "resources": _resources(cluster, reserved),
        "pools": [
            {
                "labels": dict(pool.labels),
                "taints": [str(t) for t in pool.taints],
                "nodes": len(pool.nodes),
            }
            for pool in cluster.pools
            if pool.nodes
        ],
        "growingPools": [
            {
                "name": pool.name,
                "labels": dict(pool.labels),
                "taints": [str(t) for t in pool.taints],
                "mayAdd": pool.nodes,
                "allocatable": {
                    n: quantity.canonical(n, a) for n, a in sorted(pool.shape.items())
                },
            }
            for pool in cluster.growing
        ],
        "properties": dict(cluster.properties),
        "clusterUid": row["cluster_uid"],
        "createdAt": stamp(row["created_at"]),
        "joinedAt": stamp(row["joined_at"]),
        "heartbeatAt": stamp(row["heartbeat_at"]),
        "capacityAt": None if capacity is None else stamp(capacity[1]),
    }


def _why(state: str, cluster: Cluster) -> str:
    """What keeps new work away."""
    if state == "Fenced":
        return "it was written off: delete it, or join another cluster under its name"
    if state == "Unhealthy":
        return f"its API server does not answer its agent: {cluster.down}"
    return ""


def _resources(cluster: Cluster, reserved: Mapping[str, int]) -> Row:
    """Per resource: free and allocatable as its agent reported, and what the hub's jobs there ask."""
    return {
        name: {
            "free": quantity.canonical(name, cluster.free.get(name, 0)),
            "allocatable": quantity.canonical(name, amount),
            "reserved": quantity.canonical(name, reserved.get(name, 0)),
        }
        for name, amount in sorted(cluster.allocatable.items())
    }


def find_cluster(tx: Transaction, name: str) -> Row:
    """The row of a member. Raises Rejected: NotFound."""
    row = clusters.get(tx, name)
    if row is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no cluster {name[:64]}")
    return row

"""Member clusters: declare, look at, cordon, let an agent join."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from hub.domain.fleet.clusters import Cluster
from hub.services import forgotten, pool_keys, tokens
from hub.services.apply import CREATED, REJECTED, apply_documents
from hub.services.drafts import draft
from hub.services.limits import Limits
from hub.services.member_report import is_fenced, read_member
from hub.services.views import stamp
from hub.store import audit, clusters, jobs
from hub.store.unit import Unit
from shared import quantity
from shared.errors import Rejected
from shared.kinds.cluster_v1 import GROUP as FLEET
from shared.kinds.registry import parse

Row = dict[str, Any]
_API_VERSION = f"{FLEET}/v1"


def create_cluster(
    unit: Unit,
    name: str,
    labels: Mapping[str, str],
    taints: list[Row],
    limits: Limits,
    principal: str,
    pools: list[Row] | None = None,
) -> Row:
    """Declare a member: its MemberCluster object, its row, and a one-time join token.

    `pools`: those that an autoscaler may add nodes to, as `spec.pools` of a MemberCluster has them.

    Raises Rejected: AlreadyExists, and what a MemberCluster manifest is refused for.
    """
    manifest: Row = {
        "apiVersion": _API_VERSION,
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"taints": taints} | ({"pools": pools} if pools else {}),
    }
    given = draft(parse(manifest), unit.now)
    if clusters.get(unit, given.name) is not None:
        raise Rejected("AlreadyExists", f"cluster {given.name} exists", "name")
    applied = apply_documents(unit, [given], limits.intake)[0]
    if applied.result == REJECTED and applied.error is not None:
        raise applied.error
    assert applied.result == CREATED
    _note(unit, principal, "create", name)
    return {**get_cluster(unit, name, limits), **_join(unit, name, limits.api.join_token_kept)}


def renew_join_token(unit: Unit, name: str, limits: Limits, principal: str) -> Row:
    """A fresh join token; earlier unused ones end. Raises Rejected: NotFound."""
    _find(unit, name)
    _note(unit, principal, "join-token", name)
    return {"name": name, **_join(unit, name, limits.api.join_token_kept)}


def cordon_cluster(unit: Unit, name: str, limits: Limits, principal: str, *, on: bool) -> Row:
    """Stop (or allow again) new work; what runs there goes on. Raises Rejected: NotFound."""
    row = _find(unit, name)
    if row["cordoned"] != on:
        clusters.change(unit, name, cordoned=on)
        verb = "cordon" if on else "uncordon"
        _note(unit, principal, verb, name)
        unit.event(
            uid=row["object"],
            kind="MemberCluster",
            namespace="",
            name=name,
            reason="Cordoned" if on else "Uncordoned",
            message=f"{verb} by {principal}",
        )
    return get_cluster(unit, name, limits)


def get_cluster(unit: Unit, name: str, limits: Limits) -> Row:
    """One member with pools and room. Raises Rejected: NotFound."""
    row = _find(unit, name)
    capacity = clusters.get_capacities(unit, [name]).get(name)
    held = jobs.count_by_cluster(unit).get(name, 0)
    reserved = jobs.reserved_by_cluster(unit).get(name, {})
    since = pool_keys.load(unit).since
    left = forgotten.of(unit, name)
    view = _view(row, capacity, held, reserved, unit.now, limits, since)
    return view | {"leftovers": len(left), "leftoverJobs": left}


def list_clusters(unit: Unit, limits: Limits) -> Row:
    """All members: {"items"}."""
    capacities = clusters.get_capacities(unit)
    held = jobs.count_by_cluster(unit)
    reserved = jobs.reserved_by_cluster(unit)
    since = pool_keys.load(unit).since
    left = forgotten.counts(unit)
    return {
        "items": [
            _view(
                row,
                capacities.get(row["name"]),
                held.get(row["name"], 0),
                reserved.get(row["name"], {}),
                unit.now,
                limits,
                since,
            )
            | {"leftovers": left.get(row["name"], 0)}
            for row in clusters.list_all(unit)
        ]
    }


def state_of(
    row: Mapping[str, Any], now: dt.datetime, suspect_after_s: float, down: str = ""
) -> str:
    """Declared, Ready, Cordoned, Suspect (silent for too long), Unhealthy (its API server is `down`), or
    Fenced (written off, until another agent joins).
    """
    if is_fenced(row):
        return "Fenced"
    if row["joined_at"] is None or row["heartbeat_at"] is None:
        return "Declared"
    if (now - row["heartbeat_at"]).total_seconds() > suspect_after_s:
        return "Suspect"
    if down:
        return "Unhealthy"
    return "Cordoned" if row["cordoned"] else "Ready"


def _view(
    row: Row,
    capacity: tuple[bytes, dt.datetime] | None,
    held: int,
    reserved: Mapping[str, int],
    now: dt.datetime,
    limits: Limits,
    key_revisions: Mapping[str, int],
) -> Row:
    told, cluster = read_member(row, None if capacity is None else capacity[0], key_revisions)
    state = state_of(row, now, limits.scheduling.suspect_after_s, cluster.down)
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


def _find(unit: Unit, name: str) -> Row:
    row = clusters.get(unit, name)
    if row is None:
        raise Rejected("NotFound", f"there is no cluster {name[:64]}")
    return row


def _join(unit: Unit, name: str, kept: dt.timedelta) -> Row:
    token, expires_at = tokens.issue_join(unit, name, kept)
    return {"joinToken": token, "joinTokenExpiresAt": stamp(expires_at)}


def _note(unit: Unit, principal: str, verb: str, name: str) -> None:
    audit.add(unit, principal=principal, verb=verb, object=f"MemberCluster {name}", outcome="ok")

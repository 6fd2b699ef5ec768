"""Member clusters as people see them: state, room, pools, and what is left of earlier times."""

import datetime as dt
from collections.abc import Mapping

from hub.domain.fleet.clusters import Cluster
from hub.domain.instants import stamp
from hub.domain.placement.plugins.health import trouble
from hub.services.consent.shown import list_namespaces
from hub.services.context.settings import Settings
from hub.services.index import pool_keys
from hub.services.index.fleet import read_member, state_of
from hub.services.kinds import member_kinds
from hub.services.members import forgotten
from hub.services.reading import first_agents
from hub.store import clusters, jobs, tokens
from hub.store.records.members import Member
from hub.store.transaction import Transaction
from shared import quantity
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire import versions


def get_namespaces(tx: Transaction, name: str) -> Json:
    """The namespaces of one member, as `consent.shown` lists them. Raises Rejected: NotFound."""
    find_cluster(tx, name)
    return list_namespaces(tx, name)


def get_cluster(tx: Transaction, name: str, settings: Settings) -> Json:
    """One member with pools and room. Raises Rejected: NotFound."""
    member = find_cluster(tx, name)
    capacity = clusters.get_capacities(tx, [name]).get(name)
    held = jobs.count_by_cluster(tx).get(name, 0)
    reserved = jobs.reserved_by_cluster(tx).get(name, {})
    since = pool_keys.load(tx).since
    left = forgotten.of(tx, name)
    leaves = name in clusters.leaving(tx)
    view = _view(member, capacity, held, reserved, tx.now, settings, since, leaves)
    _, cluster = read_member(member, None if capacity is None else capacity[0], since)
    return view | {
        "workKinds": member_kinds.kinds_of_work(tx, cluster),
        "leftovers": len(left),
        "leftoverJobs": left,
        "credentialExpiresAt": stamp(tokens.good_until(tx, name)),
        "hubVersion": versions.release(),
    }


def list_clusters(tx: Transaction, settings: Settings) -> Json:
    """All members: {"items", "hubVersion"}."""
    capacities = clusters.get_capacities(tx)
    held = jobs.count_by_cluster(tx)
    reserved = jobs.reserved_by_cluster(tx)
    since = pool_keys.load(tx).since
    left = forgotten.counts(tx)
    leaving = frozenset(clusters.leaving(tx))
    return {
        "items": [
            _view(
                member,
                capacities.get(member.name),
                held.get(member.name, 0),
                reserved.get(member.name, {}),
                tx.now,
                settings,
                since,
                member.name in leaving,
            )
            | {"leftovers": left.get(member.name, 0)}
            for member in clusters.list_all(tx)
        ],
        "hubVersion": versions.release(),
    }


def list_rooms(tx: Transaction, settings: Settings) -> list[Json]:
    """All members by what the overview shows of each: {"name", "state", "resources"}."""
    capacities = clusters.get_capacities(tx)
    reserved = jobs.reserved_by_cluster(tx)
    since = pool_keys.load(tx).since
    leaving = frozenset(clusters.leaving(tx))
    rooms: list[Json] = []
    for member in clusters.list_all(tx):
        capacity = capacities.get(member.name)
        _, cluster = read_member(member, None if capacity is None else capacity[0], since)
        state = _state(member, cluster, tx.now, settings, member.name in leaving)
        held = reserved.get(member.name, {})
        rooms.append({"name": member.name, "state": state, "resources": _resources(cluster, held)})
    return rooms


def _state(
    member: Member, cluster: Cluster, now: dt.datetime, settings: Settings, leaves: bool
) -> str:
    state = state_of(member, now, settings.scheduling.suspect_after_s, cluster.down)
    return "Leaving" if leaves and state == "Cordoned" else state


def _view(
    member: Member,
    capacity: tuple[bytes, dt.datetime] | None,
    held: int,
    reserved: Mapping[str, int],
    now: dt.datetime,
    settings: Settings,
    key_revisions: Mapping[str, int],
    leaves: bool,
) -> Json:
    version, cluster = read_member(
        member, None if capacity is None else capacity[0], key_revisions
    )
    state = _state(member, cluster, now, settings, leaves)
    return {
        "name": member.name,
        "state": state,
        "ready": state in {"Ready", "Cordoned", "Leaving"} and version is not None,
        "reason": cluster.down_cause if state == "Unhealthy" else "",
        "message": _why(state, cluster),
        "cordoned": member.cordoned,
        "labels": member.labels,
        "taints": member.taints,
        "jobs": held,
        "nodeCount": cluster.node_count,
        "kubernetesVersion": version or "",
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
        "propertyFaults": list(cluster.property_faults),
        "jobsForbiddenIn": sorted(cluster.jobs_forbidden_in),
        "clusterUid": member.cluster_uid,
        **_agent(member),
        "createdAt": stamp(member.created_at),
        "joinedAt": stamp(member.joined_at),
        "heartbeatAt": stamp(member.heartbeat_at),
        "capacityAt": None if capacity is None else stamp(capacity[1]),
    }


def _agent(member: Member) -> Json:
    """The agent and its connection, as of its session."""
    facts = member.agent or {}
    return {
        "agentVersion": facts.get("version", ""),
        "agentProtocol": facts.get("protocol"),
        "plainHttp": facts.get("plainHttp", False),
        "clientCertificate": facts.get("clientCertificate", False),
    }


def _why(state: str, cluster: Cluster) -> str:
    """The reasons that keep new work away."""
    if state == "Fenced":
        return "it was fenced: delete it, or join another cluster under its name"
    if state == "Unhealthy":
        if cluster.down == first_agents.REASON:
            return cluster.down
        return f"{trouble(cluster.down_cause)}: {cluster.down}"
    if state == "Leaving":
        return "its objects are withdrawn, then it is removed"
    return ""


def _resources(cluster: Cluster, reserved: Mapping[str, int]) -> Json:
    """Per resource: free and allocatable as its agent reported, and what the hub's jobs there ask."""
    return {
        name: {
            "free": quantity.canonical(name, cluster.free.get(name, 0)),
            "allocatable": quantity.canonical(name, amount),
            "reserved": quantity.canonical(name, reserved.get(name, 0)),
        }
        for name, amount in sorted(cluster.allocatable.items())
    }


def find_cluster(tx: Transaction, name: str) -> Member:
    """The member of that name. Raises Rejected: NotFound."""
    member = clusters.get(tx, name)
    if member is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no cluster {name[:64]}")
    return member

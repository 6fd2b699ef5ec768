"""Joining: a one-time join token becomes the credential of the one agent of one cluster.

The token is bound to the cluster's name; the first registration binds the name to the identity of
the Kubernetes cluster (uid of namespace kube-system). Agents reference, 5.2.
"""

from dataclasses import dataclass

from hub.services.access.credentials import AGENT, redeem_join, replace_bearer
from hub.store import clusters
from hub.store.unit import Unit
from shared.errors import Rejected


@dataclass(frozen=True, slots=True)
class Enrolled:
    """What the agent is told, once."""

    cluster: str
    credential: str


def enrol(unit: Unit, token: str, cluster_uid: str) -> Enrolled:
    """Redeem a join token for the cluster it was made for; earlier credentials of it end.

    Raises Rejected: Unauthenticated, TokenUsed, TokenExpired, NotFound, ClusterIdentityChanged (the
    name belongs to another cluster), ClusterAlreadyJoined (the cluster has another name).
    """
    principal = redeem_join(unit, token)
    row = clusters.get(unit, principal.cluster)
    if row is None:
        raise Rejected("NotFound", f"cluster {principal.cluster} does not exist")
    if row["cluster_uid"] and row["cluster_uid"] != cluster_uid:
        text = f"{principal.cluster} is the name of another cluster (kube-system uid differs)"
        raise Rejected("ClusterIdentityChanged", text, "cluster_uid")
    for other in clusters.list_all(unit):
        if other["cluster_uid"] == cluster_uid and other["name"] != principal.cluster:
            text = f"this cluster has joined as {other['name']}"
            raise Rejected("ClusterAlreadyJoined", text, "cluster_uid")
    clusters.change(
        unit,
        principal.cluster,
        cluster_uid=cluster_uid,
        joined_at=row["joined_at"] or unit.now,
        heartbeat_at=unit.now,
    )
    unit.event(
        uid=row["object"],
        kind="MemberCluster",
        namespace="",
        name=principal.cluster,
        reason="MemberClusterJoined",
        message="the agent has registered",
    )
    credential = replace_bearer(unit, AGENT, principal.cluster, principal.cluster)
    return Enrolled(principal.cluster, credential)

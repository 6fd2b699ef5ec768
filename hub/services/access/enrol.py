"""Joining: a one-time join token becomes the credential of the one agent of one cluster.

The token is bound to the cluster's name; the first registration binds the name to the identity of
the Kubernetes cluster (uid of namespace kube-system).
"""

import datetime as dt
from dataclasses import dataclass

from hub.services.access.credentials import (
    AGENT,
    admit_agent,
    find_admitted,
    find_join,
    redeem_join,
    replace_bearer,
)
from hub.store import clusters
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.reject_codes import RejectCode


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The reply to the agent, once."""

    cluster: str
    credential: str  # "": of the agent's own making
    credential_id: str = ""


def enrol(
    tx: Transaction,
    token: str,
    cluster_uid: str,
    secret_hash: str = "",
    kept: dt.timedelta | None = None,
) -> Enrolled:
    """Redeem a join token for the cluster it was made for; earlier credentials of it end.

    `secret_hash`: of a secret that the agent made itself. Its credential lives for `kept`, and whoever
    comes again with both, because the answer was lost, is answered the same while the token lasts.
    Without, the secret is made here, for an agent that can not replace it: it has no end.

    Raises Rejected: Unauthenticated, TokenUsed, TokenExpired, NotFound, ClusterIdentityChanged (the
    name belongs to another cluster), ClusterAlreadyJoined (the cluster has another name).
    """
    again = _joined_before(tx, token, cluster_uid, secret_hash)
    if again is not None:
        return again
    principal = redeem_join(tx, token)
    member = clusters.get(tx, principal.cluster)
    if member is None:
        raise Rejected(RejectCode.NOT_FOUND, f"cluster {principal.cluster} does not exist")
    if member.cluster_uid and member.cluster_uid != cluster_uid:
        text = f"{principal.cluster} is the name of another cluster (kube-system uid differs)"
        raise Rejected(RejectCode.CLUSTER_IDENTITY_CHANGED, text, "cluster_uid")
    for other in clusters.list_all(tx):
        if other.cluster_uid == cluster_uid and other.name != principal.cluster:
            text = f"this cluster has joined as {other.name}"
            raise Rejected(RejectCode.CLUSTER_ALREADY_JOINED, text, "cluster_uid")
    clusters.change(
        tx,
        principal.cluster,
        cluster_uid=cluster_uid,
        joined_at=member.joined_at or tx.now,
        heartbeat_at=tx.now,
    )
    clusters.say(tx, member, "MemberClusterJoined", "the agent has registered")
    if secret_hash and kept is not None:
        made = admit_agent(tx, principal.cluster, secret_hash, tx.now + kept)
        return Enrolled(principal.cluster, "", made)
    credential = replace_bearer(tx, AGENT, principal.cluster, principal.cluster)
    return Enrolled(principal.cluster, credential)


def _joined_before(
    tx: Transaction, token: str, cluster_uid: str, secret_hash: str
) -> Enrolled | None:
    """The earlier answer to this same request, if any; the answer may have been lost."""
    used = find_join(tx, token)
    if used.used_at is None:
        return None
    member, held = clusters.get(tx, used.cluster), find_admitted(tx, used, secret_hash)
    if held is None or member is None or member.cluster_uid != cluster_uid:
        return None
    return Enrolled(used.cluster, "", held)

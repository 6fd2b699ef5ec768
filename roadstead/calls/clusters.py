"""Member clusters: declare, show, cordon, fence."""

from collections.abc import Mapping, Sequence
from typing import Any

from roadstead.calls.bodies import body_of
from roadstead.models.clusters import (
    Cluster,
    CordonPreview,
    DeclaredCluster,
    Drained,
    Fenced,
    JoinToken,
    MemberNamespace,
)
from roadstead.models.objects import Deleted
from roadstead.paths import part
from roadstead.steps import Request, Steps, items, one


def clusters() -> Steps[list[Cluster]]:
    """Every member cluster with its capacity and heartbeat."""
    return items(Request("GET", "/v1/clusters"), Cluster)


def cluster(name: str) -> Steps[Cluster]:
    """One member cluster."""
    return one(Request("GET", f"/v1/clusters/{part(name)}"), Cluster)


def namespaces(cluster: str) -> Steps[list[MemberNamespace]]:
    """Namespaces of one member that the hub uses or requests, with their consent."""
    return items(Request("GET", f"/v1/clusters/{part(cluster)}/namespaces"), MemberNamespace)


def add_cluster(
    name: str,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, Any]] = (),
    pools: Sequence[Mapping[str, Any]] = (),
) -> Steps[DeclaredCluster]:
    """Declare a member; the answer has its one-time join token.

    `pools` are those that an autoscaler may add nodes to, as `spec.pools` of a MemberCluster.
    """
    given = {"name": name, "labels": dict(labels or {}), "taints": list(taints)}
    body = body_of(given | ({"pools": list(pools)} if pools else {}))
    return one(Request("POST", "/v1/clusters", body=body), DeclaredCluster)


def join_token(name: str) -> Steps[JoinToken]:
    """Make a new one-time join token for a declared member; revokes earlier unused ones."""
    return one(Request("POST", f"/v1/clusters/{part(name)}/join-token"), JoinToken)


def cordon(name: str, *, on: bool = True) -> Steps[Cluster]:
    """Stop (or allow) new work on a member; running jobs continue."""
    verb = "cordon" if on else "uncordon"
    return one(Request("POST", f"/v1/clusters/{part(name)}/{verb}", repeatable=True), Cluster)


def preview_cordon(name: str, *, on: bool = True) -> Steps[CordonPreview]:
    """Preview `cordon`; raises Rejected if it would be rejected."""
    verb = "cordon" if on else "uncordon"
    asked = {"dryRun": "true"}
    return one(Request("POST", f"/v1/clusters/{part(name)}/{verb}", asked), CordonPreview)


def remove_cluster(name: str, *, objects: str = "", dry_run: bool = False) -> Steps[Deleted]:
    """Remove a member without jobs and revoke its agent's credential; else raises Rejected.

    `objects`: Delete withdraws them first, Abandon leaves them; "" uses its MemberCluster's policy.
    `dry_run`: only return the effects there.
    """
    asked = {"propagationPolicy": objects or None, "dryRun": "true" if dry_run else None}
    return one(Request("DELETE", f"/v1/clusters/{part(name)}", asked), Deleted)


def drain(name: str, *, dry_run: bool = False) -> Steps[Drained]:
    """Cordon a member; its jobs start elsewhere, objects leave as budgets allow. `dry_run`: only preview."""
    body = body_of({"dryRun": True} if dry_run else {})
    return one(
        Request("POST", f"/v1/clusters/{part(name)}/drain", body=body, repeatable=True), Drained
    )


def fence(name: str, confirm: str, *, though_it_answers: bool = False) -> Steps[Fenced]:
    """Fence a destroyed member: its jobs start elsewhere. `confirm`: its name again.

    Rejects a member that still answers, unless you override it: its jobs run twice.
    """
    given = {"confirm": confirm} | ({"thoughItAnswers": True} if though_it_answers else {})
    return one(Request("POST", f"/v1/clusters/{part(name)}/fence", body=body_of(given)), Fenced)

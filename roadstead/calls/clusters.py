"""Member clusters: declare, look at, cordon, write off."""

from collections.abc import Mapping, Sequence
from typing import Any

from roadstead.calls.bodies import body_of
from roadstead.models.clusters import (
    Cluster,
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
    """Namespaces of one member that the hub uses or asks for, with their consent."""
    return items(Request("GET", f"/v1/clusters/{part(cluster)}/namespaces"), MemberNamespace)


def add_cluster(
    name: str,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, Any]] = (),
    pools: Sequence[Mapping[str, Any]] = (),
) -> Steps[DeclaredCluster]:
    """Declare a member; the answer holds its one-time join token.

    `pools` are those that an autoscaler may add nodes to, as `spec.pools` of a MemberCluster.
    """
    given = {"name": name, "labels": dict(labels or {}), "taints": list(taints)}
    body = body_of(given | ({"pools": list(pools)} if pools else {}))
    return one(Request("POST", "/v1/clusters", body=body), DeclaredCluster)


def join_token(name: str) -> Steps[JoinToken]:
    """A fresh one-time join token for a declared member; earlier unused ones end."""
    return one(Request("POST", f"/v1/clusters/{part(name)}/join-token"), JoinToken)


def cordon(name: str, *, on: bool = True) -> Steps[Cluster]:
    """Stop (or allow again) new work on a member; what runs there goes on."""
    verb = "cordon" if on else "uncordon"
    return one(Request("POST", f"/v1/clusters/{part(name)}/{verb}", repeatable=True), Cluster)


def remove_cluster(name: str, *, objects: str = "", dry_run: bool = False) -> Steps[Deleted]:
    """Forget a member that holds no jobs; its agent's credential ends. Else raises Rejected.

    `objects`: Delete takes them back first, Abandon leaves them; "" is as its MemberCluster says.
    `dry_run`: only say what that does there.
    """
    asked = {"propagationPolicy": objects or None, "dryRun": "true" if dry_run else None}
    return one(Request("DELETE", f"/v1/clusters/{part(name)}", asked), Deleted)


def drain(name: str, *, dry_run: bool = False) -> Steps[Drained]:
    """Cordon a member; its jobs start elsewhere, objects leave as budgets allow. `dry_run`: only say so."""
    body = body_of({"dryRun": True} if dry_run else {})
    return one(
        Request("POST", f"/v1/clusters/{part(name)}/drain", body=body, repeatable=True), Drained
    )


def fence(name: str, confirm: str, *, though_it_answers: bool = False) -> Steps[Fenced]:
    """Write a destroyed member off: its jobs start elsewhere. `confirm`: its name again.

    One that still answers is refused, unless you say that you know: its jobs run twice.
    """
    given = {"confirm": confirm} | ({"thoughItAnswers": True} if though_it_answers else {})
    return one(Request("POST", f"/v1/clusters/{part(name)}/fence", body=body_of(given)), Fenced)

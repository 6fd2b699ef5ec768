"""Member clusters: declare, look at, cordon, let an agent join."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from hub.domain.instants import stamp
from hub.services.access import credentials
from hub.services.context.settings import Limits
from hub.services.objects.apply import CREATED, REJECTED, apply_documents
from hub.services.questions.clusters import find_cluster, get_cluster
from hub.services.reading.draft import draft
from hub.store import audit, clusters
from hub.store.unit import Unit
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
    find_cluster(unit, name)
    _note(unit, principal, "join-token", name)
    return {"name": name, **_join(unit, name, limits.api.join_token_kept)}


def cordon_cluster(unit: Unit, name: str, limits: Limits, principal: str, *, on: bool) -> Row:
    """Stop (or allow again) new work; what runs there goes on. Raises Rejected: NotFound."""
    row = find_cluster(unit, name)
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


def _join(unit: Unit, name: str, kept: dt.timedelta) -> Row:
    token, expires_at = credentials.issue_join(unit, name, kept)
    return {"joinToken": token, "joinTokenExpiresAt": stamp(expires_at)}


def _note(unit: Unit, principal: str, verb: str, name: str) -> None:
    audit.add(unit, principal=principal, verb=verb, object=f"MemberCluster {name}", outcome="ok")

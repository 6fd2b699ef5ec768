"""Member clusters: declare, look at, cordon, let an agent join."""

import datetime as dt
from collections.abc import Mapping

from hub.domain.instants import stamp
from hub.services.access import credentials
from hub.services.context.settings import Settings
from hub.services.objects.apply import CREATED, REJECTED, apply_documents
from hub.services.questions.clusters import find_cluster, get_cluster
from hub.services.reading.draft import draft
from hub.store import audit, clusters
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.cluster_v1 import GROUP as FLEET
from shared.kinds.registry import parse
from shared.reject_codes import RejectCode

_API_VERSION = f"{FLEET}/v1"


def create_cluster(
    tx: Transaction,
    name: str,
    labels: Mapping[str, str],
    taints: list[Json],
    settings: Settings,
    principal: str,
    pools: list[Json] | None = None,
) -> Json:
    """Declare a member: its MemberCluster object, its row, and a one-time join token.

    `pools`: those that an autoscaler may add nodes to, as `spec.pools` of a MemberCluster has them.

    Raises Rejected: AlreadyExists, and what a MemberCluster manifest is refused for.
    """
    manifest: Json = {
        "apiVersion": _API_VERSION,
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"taints": taints} | ({"pools": pools} if pools else {}),
    }
    given = draft(parse(manifest), tx.now, submitted_by=principal)
    if clusters.get(tx, given.name) is not None:
        raise Rejected(RejectCode.ALREADY_EXISTS, f"cluster {given.name} exists", "name")
    applied = apply_documents(tx, [given], settings.intake)[0]
    if applied.result == REJECTED and applied.error is not None:
        raise applied.error
    assert applied.result == CREATED
    _note(tx, principal, "create", name)
    return {**get_cluster(tx, name, settings), **_join(tx, name, settings.api.join_token_kept)}


def renew_join_token(tx: Transaction, name: str, settings: Settings, principal: str) -> Json:
    """A fresh join token; earlier unused ones end. Raises Rejected: NotFound."""
    find_cluster(tx, name)
    _note(tx, principal, "join-token", name)
    return {"name": name, **_join(tx, name, settings.api.join_token_kept)}


def cordon_cluster(
    tx: Transaction, name: str, settings: Settings, principal: str, *, on: bool
) -> Json:
    """Stop (or allow again) new work; running jobs continue. Raises Rejected: NotFound."""
    if set_cordoned(tx, name, principal, on=on):
        _note(tx, principal, _verb(on), name)
    return get_cluster(tx, name, settings)


def would_cordon(tx: Transaction, name: str, settings: Settings, *, on: bool) -> Json:
    """Preview `cordon_cluster`, as `CordonPreview` has it. Raises Rejected: NotFound."""
    member = find_cluster(tx, name)
    return {
        "name": name,
        "carriedOut": False,
        "cordoned": member.cordoned,
        "wouldBe": on,
        "jobs": get_cluster(tx, name, settings)["jobs"],
    }


def set_cordoned(tx: Transaction, name: str, principal: str, *, on: bool) -> bool:
    """The same, for callers that record it: True if anything changed. Raises Rejected: NotFound."""
    member = find_cluster(tx, name)
    if member.cordoned == on:
        return False
    clusters.change(tx, name, cordoned=on)
    reason = "Cordoned" if on else "Uncordoned"
    clusters.say(tx, member, reason, f"{_verb(on)} by {principal}")
    return True


def _verb(on: bool) -> str:
    return "cordon" if on else "uncordon"


def _join(tx: Transaction, name: str, kept: dt.timedelta) -> Json:
    token, expires_at = credentials.issue_join(tx, name, kept)
    return {"joinToken": token, "joinTokenExpiresAt": stamp(expires_at)}


def _note(tx: Transaction, principal: str, verb: str, name: str) -> None:
    audit.add(tx, principal, verb, f"MemberCluster {name}")

"""Kinds of work that a member runs, and the lack that keeps it from each other: operator, agent or right.

Built-in kinds that the hub dispatches, and those that administrators defined and jobs may have. It rests on
the same columns as the placement of jobs (`hub.domain.placement.plugins.kinds`).
"""

from collections.abc import Iterable
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.services.kinds import kind_versions
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.kinds.dispatched import DISPATCHED
from shared.wire.versions import KINDS

SERVED: Final = "Served"
NOT_SERVED: Final = "NotServed"
AGENT_TOO_OLD: Final = "AgentTooOld"
RIGHT_MISSING: Final = "RightMissing"
UNKNOWN: Final = "Unknown"

JOB: Final = ("batch/v1", "Job")
_REMEDIES: Final = {
    SERVED: "",
    NOT_SERVED: "install its CustomResourceDefinition and its operator in the member",
    AGENT_TOO_OLD: "upgrade the member's agent: its release runs Jobs alone",
    RIGHT_MISSING: "grant its agent's account get, list, watch, create, patch and delete on the kind, as the "
    "agent's chart does (your own kinds: its value jobKinds)",
    UNKNOWN: "",
}


def kinds_of_work(tx: Transaction, cluster: Cluster) -> list[Json]:
    """Job, then the others in order: {"apiVersion", "kind", "state", "remedy"} of each.

    `state`: Served, NotServed, AgentTooOld, RightMissing, or Unknown until the agent has told its kinds.
    """
    return told_of(cluster, [JOB, *sorted(DISPATCHED | kind_versions.dispatched(tx))])


def told_of(cluster: Cluster, kinds: Iterable[tuple[str, str]]) -> list[Json]:
    """The same of these kinds (apiVersion, kind), in their order."""
    found: list[Json] = []
    for api_version, kind in kinds:
        state = state_of(cluster, api_version, kind)
        found.append(
            {"apiVersion": api_version, "kind": kind, "state": state, "remedy": _REMEDIES[state]}
        )
    return found


def state_of(cluster: Cluster, api_version: str, kind: str) -> str:
    """Served if the member runs jobs of a kind, else the first reason against it.

    An agent that is too old says nothing of rights, so its release comes first.
    """
    key = f"{api_version}/{kind}"
    if not cluster.joined:
        return UNKNOWN
    if (api_version, kind) != JOB and cluster.protocol < KINDS:
        return AGENT_TOO_OLD
    if cluster.kinds is None:
        return UNKNOWN
    if key not in cluster.kinds:
        return NOT_SERVED
    return RIGHT_MISSING if key in cluster.unread_kinds else SERVED

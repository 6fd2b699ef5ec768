"""Inputs of `simulate place`: placements, the fleet, and the selected objects."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.placement.pick import Scores
from hub.domain.workloads.placement_policy import Policy, read_policy
from hub.offline.inputs.documents import Document
from hub.offline.inputs.member_status import ToldMember, heartbeats, read_member
from shared.documents import JsonView
from shared.groups import CLUSTER, PLACEMENT

KINDS: Final = ("ClusterResourcePlacement", "ResourcePlacement")
# What is read; of other kinds nothing is: where something would go does not depend on what it is.
READ: Final = frozenset({(CLUSTER, "MemberCluster"), *((PLACEMENT, kind) for kind in KINDS)})
_SCORES: Final = re.compile(r"affinity score: (-?\d+), topology spread score: (-?\d+)")


@dataclass(frozen=True, slots=True)
class GivenPlacement:
    """One placement. `picked`: clusters in its status, with the scores that it tells; `unbound`: those
    of them that were given nothing yet.
    """

    kind: str
    namespace: str
    name: str
    policy: Policy
    picked: Mapping[str, Scores]
    unbound: frozenset[str]


@dataclass(frozen=True, slots=True)
class PlacingScene:
    """Placements in the order of the files. `now`: microseconds since the epoch."""

    now: int
    members: Mapping[str, ToldMember]
    placements: tuple[GivenPlacement, ...]


def build(documents: Sequence[Document], now: int | None) -> PlacingScene:
    """The scene at `now`; None: at the newest reported heartbeat. Raises `Unreadable`.

    Later documents of the same kind and name replace earlier ones, as applying them would.
    """
    latest = {(d.group, d.kind, d.parsed.namespace, d.name): d for d in documents}
    members = [d for d in latest.values() if d.kind == "MemberCluster"]
    at = max(heartbeats(members), default=0) if now is None else now
    return PlacingScene(
        at,
        {d.name: read_member(d, at) for d in members},
        tuple(_placement(d) for d in latest.values() if d.kind in KINDS),
    )


def _placement(document: Document) -> GivenPlacement:
    namespace = document.parsed.namespace if document.kind == "ResourcePlacement" else ""
    picked: dict[str, Scores] = {}
    unbound: set[str] = set()
    for entry in document.objects("status", "placementStatuses"):
        name, conditions = entry.get("clusterName"), _conditions(document, entry)
        scheduled = conditions.get("Scheduled", {})
        if name and scheduled.get("status", "True") == "True":
            told = _SCORES.search(str(scheduled.get("message") or ""))
            picked[str(name)] = Scores(*map(int, told.groups())) if told else Scores()
            if conditions.get("RolloutStarted", {}).get("status") != "True":
                unbound.add(str(name))
    policy = read_policy(document.parsed.spec.get("policy"))
    return GivenPlacement(
        document.kind, namespace, document.name, policy, picked, frozenset(unbound)
    )


def _conditions(document: Document, entry: JsonView) -> dict[str, JsonView]:
    """Its conditions by type, without the name of the kind that a placement's own begin with."""
    listed = entry.get("conditions") or []
    if not isinstance(listed, list) or not all(isinstance(c, dict) for c in listed):
        raise document.fault("status.placementStatuses[].conditions", "must be a list of objects")
    found: dict[str, JsonView] = {}
    for condition in listed:
        name = str(condition.get("type") or "")
        found[name.removeprefix("Cluster").removeprefix("ResourcePlacement")] = condition
    return found

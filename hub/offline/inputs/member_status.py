"""Member clusters with what their status tells: properties, usage, conditions and heartbeats.

A status that says nothing of the agent is that of a cluster that is there: who draws up a scene leaves out
what is as it should be.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from hub.domain import selectors
from hub.domain.fleet.clusters import Cluster, labels_of
from hub.domain.instants import from_micros
from hub.domain.placement.compatible import AgentState
from hub.offline.inputs.documents import Document
from hub.offline.inputs.members import read_cluster
from shared import quantity
from shared.documents import JsonView
from shared.errors import Rejected
from shared.properties import USAGE_PREFIX

_AGENT: Final = "MemberAgent"
# Parts of `status.resourceUsage`, and what property names call them.
_VIEWS: Final = {"capacity": "total", "allocatable": "allocatable", "available": "available"}


@dataclass(frozen=True, slots=True)
class ToldMember:
    """A cluster, its agent, and the namespaces that it reports (None: it reports none)."""

    cluster: Cluster
    agent: AgentState
    namespaces: frozenset[str] | None
    unreadable: tuple[str, ...]  # figures of usage that are no quantities; they count as missing


def heartbeats(documents: list[Document]) -> Iterator[int]:
    """Microseconds since the epoch of every reported heartbeat. Raises `Unreadable`."""
    for document in documents:
        for agent in document.objects("status", "agentStatus"):
            if at := agent.get("lastReceivedHeartbeat"):
                yield document.instant(at, "status.agentStatus[].lastReceivedHeartbeat")


def read_member(document: Document, now: int) -> ToldMember:
    """A member as its manifest and status have it at `now` (microseconds). Raises `Unreadable`."""
    agent = _agent(document, now)
    unreadable: list[str] = []
    told = _usage(document, unreadable)
    pools = any(document.objects(part, "pools") for part in ("spec", "status"))
    nodes = read_cluster(document, (), now) if pools else None
    declared = {} if nodes is None else nodes.allocatable
    properties = {
        name: str(value.get("value")) if isinstance(value, dict) else str(value)
        for name, value in document.mapping("status", "properties").items()
    }
    cluster = Cluster(
        name=document.name,
        labels=labels_of(document.name, document.parsed.labels),
        taints=selectors.read_taints(document.parsed.spec.get("taints")),
        joined=agent.joined is not False,
        heartbeat_at=agent.heartbeat_at,
        down="unhealthy" if agent.healthy is False else "",
        properties=properties,
        allocatable=declared,
        free=declared,
        node_count=0 if nodes is None else nodes.node_count,
        told=told if nodes is None or told else None,
    )
    return ToldMember(cluster, agent, _namespaces(document), tuple(sorted(unreadable)))


def _namespaces(document: Document) -> frozenset[str] | None:
    """Those that it reports; None of one that says neither names nor that it collects them."""
    reported = document.mapping("status", "namespaces")
    conditions = document.status.get("conditions")
    collects = any(
        c.get("type") == "NamespaceCollectionSucceeded" and c.get("status") == "True"
        for c in (conditions if isinstance(conditions, list) else ())
        if isinstance(c, dict)
    )
    return frozenset(reported) if reported or collects else None


def _agent(document: Document, now: int) -> AgentState:
    has_left = bool((document.raw.get("metadata") or {}).get("deletionTimestamp"))
    told = document.objects("status", "agentStatus")
    mine = next((each for each in told if each.get("type") == _AGENT), None)
    if told and mine is None:
        return AgentState(has_left=has_left, is_told=False)
    where = "status.conditions" if mine is None else "status.agentStatus[].conditions"
    conditions = (document.status if mine is None else mine).get("conditions") or []
    if not isinstance(conditions, list) or not all(isinstance(c, dict) for c in conditions):
        raise document.fault(where, "must be a list of objects")
    by_type: dict[str, JsonView] = {str(c.get("type")): c for c in conditions}
    healthy, since = by_type.get("Healthy"), None
    if healthy and healthy.get("lastTransitionTime"):
        since = _at(document, healthy["lastTransitionTime"], f"{where}[].lastTransitionTime")
    joined = by_type.get("Joined")
    if mine is None:  # the agent's state is not given: it is online
        heartbeat_at: dt.datetime | None = from_micros(now)
    else:
        field = "status.agentStatus[].lastReceivedHeartbeat"
        beat = mine.get("lastReceivedHeartbeat")
        heartbeat_at = _at(document, beat, field) if beat else None
    return AgentState(
        has_left=has_left,
        heartbeat_at=heartbeat_at,
        joined=mine is None if joined is None else joined.get("status") == "True",
        healthy=_health(healthy, is_told=mine is not None),
        healthy_since=since,
    )


def _health(condition: JsonView | None, *, is_told: bool) -> bool | None:
    if condition is None:
        return None if is_told else True
    return condition.get("status") == "True"


def _at(document: Document, text: object, field: str) -> dt.datetime:
    return from_micros(document.instant(text, field))


def _usage(document: Document, unreadable: list[str]) -> dict[str, Decimal]:
    """Property name → its exact figure: nothing stands in for what is not told, and nothing is rounded."""
    found: dict[str, Decimal] = {}
    for field, view in _VIEWS.items():
        for resource, text in document.mapping("status", "resourceUsage", field).items():
            try:
                found[f"{USAGE_PREFIX}{view}-{resource}"] = quantity.number(text)
            except Rejected:
                unreadable.append(f"status.resourceUsage.{field}.{resource}")
    return found

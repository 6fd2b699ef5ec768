"""Statuses of everything but Jobs, in the shapes of Kueue and KubeFleet. Pure."""

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final, Literal

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement.plugins.eligibility import SUSPECT_AFTER_S
from hub.domain.placement.plugins.health import NO_ANSWER, trouble
from hub.store.records.members import Member
from shared import quantity
from shared.conditions import Condition, find, rfc3339, set_condition
from shared.documents import Json, JsonView
from shared.kinds import unheeded

Status = Json
ACCEPTED: Final = "Accepted"
COMPLETE: Final = "SelectionComplete"  # of a placement: all that it selects can be read
# What is said when an objection has gone.
_SETTLED: Final = {
    ACCEPTED: ("Accepted", "the hub has taken it"),
    COMPLETE: ("SelectionComplete", "the hub reads all that it selects"),
}
_OF_MEMBERS: Final = (
    "failedPlacements",
    "reportedStatuses",
)  # their generations are of the members
Health = tuple[Literal["True", "False"], str, str]
# Reasons of condition Healthy, by what the agent reports of its API server.
_UNHEALTHY: Final = {
    NO_ANSWER: "ApiServerNotAnswering",
    "Unauthorized": "CredentialRejected",
    "Forbidden": "ProbeForbidden",
}
COLLECTED: Final = "ClusterPropertyCollectionSucceeded"
MOST_CHARS: Final = 2000  # of what is told of properties that were not read
# Fields that say when, not what: a difference in these alone is worth no write.
_TIMES: Final = frozenset(
    {"observationTime", "lastReceivedHeartbeat", "lastTransitionTime", "lastUpdate"}
)


def with_generation(status: Status, ours: int, theirs: int) -> Status:
    """The status with the hub cluster's generation where the hub counts its own."""
    if ours == theirs:
        return status
    changed: Status = _renumbered(status, ours, theirs)
    return changed


def objection(
    live: list[Condition] | None,
    kind: str,
    *,
    code: str,
    detail: str,
    generation: int,
    now: dt.datetime,
) -> list[Condition]:
    """Condition `kind`: False with the objection's code; True only where one had stood before."""
    if code:
        return set_condition(live, kind, "False", code, detail, now, generation)
    if find(live, kind) is None:
        return list(live or ())
    reason, text = _SETTLED[kind]
    return set_condition(live, kind, "True", reason, text, now, generation)


def reported(group: str, status: JsonView | None, obj: Json) -> Status | None:
    """What is to be written on an object whose status a member reports; None: nothing.

    Of custom resources alone: what Kubernetes brings has its own controllers on the hub cluster too, and
    they write there. What is not told (any more) goes, as a null of a merge patch.
    """
    if "." not in group or group.endswith(".k8s.io") or not unheeded.says_more(status):
        return None
    live = obj.get("status") or {}
    wanted: Status = {**dict.fromkeys(live), **(status or {})}
    return wanted if differs(wanted, live) else None


def member_status(
    member: Member,
    cluster: Cluster,
    reported_at: dt.datetime | None,
    live: JsonView | None,
    generation: int,
    now: dt.datetime,
    suspect_after_s: float = SUSPECT_AFTER_S,
) -> Status:
    """A MemberCluster: joined or not, properties, what it has, how its agent is.

    An agent that is not heard for `suspect_after_s` is silent, here as in the hub's own answers.
    """
    heard = member.heartbeat_at
    conditions = set_condition(
        (live or {}).get("conditions"),
        "ReadyToJoin",
        "True",
        "MemberClusterReadyToJoin",
        "an agent can join with a join token",
        now,
        generation,
    )
    joined: tuple[Any, str, str] = ("Unknown", "MemberClusterJoinStateUnknown", "no agent yet")
    if member.joined_at is not None:
        joined = ("True", "MemberClusterJoined", "the agent has joined")
    conditions = set_condition(conditions, "Joined", *joined, now, generation)
    if reported_at is not None:
        collected = _collected(cluster)
        conditions = set_condition(conditions, COLLECTED, *collected, now, generation)
    status: Status = {"conditions": conditions}
    if reported_at is not None:
        status["resourceUsage"] = _usage(cluster, reported_at)
        told = _properties(cluster, reported_at)
        gone = ((live or {}).get("properties") or {}).keys() - told.keys()
        status["properties"] = {**told, **dict.fromkeys(gone)}  # a merge patch drops these
    if heard is not None:
        health = _health(cluster, silent_s=suspect_after_s, heard=now - heard)
        agent = _agent((live or {}).get("agentStatus"), health, generation=generation, now=now)
        status["agentStatus"] = [{**agent, "lastReceivedHeartbeat": rfc3339(heard)}]
    return status


def differs(wanted: object, live: object, *, whole: bool = False, inside: bool = False) -> bool:
    """Does `live` lack something of `wanted`, times aside? What `live` has beyond it stays.

    `whole`: not so in what lists hold, for they are written whole, and it is to go. `inside`: of one.
    """
    if isinstance(wanted, Mapping):
        if not isinstance(live, Mapping):
            return True
        beyond = live.keys() - wanted.keys() - _TIMES if inside else ()
        return any(live[name] is not None for name in beyond) or any(
            differs(value, live.get(name), whole=whole, inside=inside)
            for name, value in wanted.items()
            if name not in _TIMES
        )
    if isinstance(wanted, list):
        if not isinstance(live, list) or len(live) != len(wanted):
            return bool(wanted or live)
        pairs = zip(wanted, live, strict=True)
        return any(differs(one, other, whole=whole, inside=whole) for one, other in pairs)
    return bool(wanted != live)


def _usage(cluster: Cluster, at: dt.datetime) -> Status:
    allocatable = {
        name: quantity.canonical(name, amount) for name, amount in cluster.allocatable.items()
    }
    available = {
        name: quantity.canonical(name, max(0, cluster.free.get(name, 0)))
        for name in cluster.allocatable
    }
    return {
        "capacity": allocatable
        | {name: quantity.canonical(name, amount) for name, amount in cluster.total.items()},
        "allocatable": allocatable,
        "available": available,
        "observationTime": rfc3339(at),
    }


def _collected(cluster: Cluster) -> tuple[Literal["True", "False"], str, str]:
    """Whether all properties of the member could be read."""
    if cluster.property_faults:
        return "False", "PropertiesNotRead", "; ".join(cluster.property_faults)[:MOST_CHARS]
    return "True", "PropertiesCollected", "all properties were read"


def _properties(cluster: Cluster, at: dt.datetime) -> Status:
    told = {"kubernetes-fleet.io/node-count": str(cluster.node_count), **cluster.properties}
    return {name: {"value": value, "observationTime": rfc3339(at)} for name, value in told.items()}


def _health(cluster: Cluster, *, silent_s: float, heard: dt.timedelta) -> Health:
    """Status, reason and message of condition Healthy of a member's agent."""
    if heard.total_seconds() > silent_s:
        return "False", "AgentSilent", f"it has not been heard for {silent_s:g} s"
    if not cluster.down:
        return "True", "AgentHealthy", "it syncs"
    said = f"{trouble(cluster.down_cause)}: {cluster.down}"
    return "False", _UNHEALTHY.get(cluster.down_cause, _UNHEALTHY[NO_ANSWER]), said


def _agent(
    live: list[Json] | None, health: Health, *, generation: int, now: dt.datetime
) -> Status:
    before = next((each for each in live or () if each.get("type") == "MemberAgent"), {})
    conditions = set_condition(
        before.get("conditions"), "Joined", "True", "AgentJoined", "registered", now, generation
    )
    conditions = set_condition(conditions, "Healthy", *health, now, generation)
    return {"type": "MemberAgent", "conditions": conditions}


def _renumbered(value: object, ours: int, theirs: int) -> Any:
    if isinstance(value, dict):
        return {
            name: theirs
            if name == "observedGeneration" and each == ours
            else _renumbered(each, ours, theirs)
            for name, each in value.items()
            if name not in _OF_MEMBERS
        } | {name: value[name] for name in _OF_MEMBERS if name in value}
    if isinstance(value, list):
        return [_renumbered(each, ours, theirs) for each in value]
    return value

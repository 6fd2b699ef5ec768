"""Clusters, queues, events and drift as the page shows them."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.store.records.history import StoredEvent
from hub.store.records.works import DriftedWork
from hub.web.words import Instant, instant, labels, path_of, percent, text, tone
from shared import quantity
from shared.documents import Json

_FIRST: Final = ("cpu", "memory")
_LAST: Final = "pods"
_MAX_DOORS: Final = 3
_UNLIMITED: Final = "unlimited"  # null on the wire
UNREADABLE: Final = "the hub's record of it can not be shown; the hub's log says why"


@dataclass(frozen=True, slots=True)
class RoomView:
    """One resource of a cluster, as its agent last reported it."""

    resource: str
    free: str
    total: str
    percent: int  # used, of the total


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """One member."""

    name: str
    state: str
    tone: str
    labels: str
    taints: str
    nodes: int
    jobs: int
    heartbeat: Instant | None
    rooms: tuple[RoomView, ...]
    fault: str = ""
    message: str = ""  # what keeps new work away


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One flavor and resource of a queue."""

    resource: str
    flavor: str
    used: str
    nominal: str
    percent: int
    borrows: bool


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One ClusterQueue."""

    name: str
    doors: str
    cohort: str
    strategy: str
    state: str
    tone: str
    message: str
    pending: int
    admitted: int
    quotas: tuple[QuotaLine, ...]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class EventLine:
    """Something that happened."""

    id: str
    at: Instant | None
    reason: str
    tone: str
    object: str
    message: str
    href: str = ""  # of the page of what it happened to


@dataclass(frozen=True, slots=True)
class DriftLine:
    """One field that is not as the hub wants it."""

    cluster: str
    object: str
    path: str
    hub: str
    member: str
    since: Instant | None


def cluster_line(row: Json, now: dt.datetime) -> ClusterLine:
    """One of `services.questions.clusters.list_clusters`."""
    resources: Mapping[str, Json] = row["resources"]
    return ClusterLine(
        name=text(row["name"]),
        state=text(row["state"]),
        tone=tone(row["state"]),
        labels=labels(row["labels"] or {}),
        taints=text(", ".join(taint_text(t) for t in row["taints"] or ())),
        nodes=row["nodeCount"],
        jobs=row["jobs"],
        heartbeat=instant(row["heartbeatAt"], now),
        rooms=tuple(_room(name, resources[name]) for name in sorted(resources, key=rank)),
        message=text(row["message"]),
    )


def unreadable_cluster(row: Json) -> ClusterLine:
    """The placeholder of an unreadable one."""
    return ClusterLine(
        text(row.get("name")), "Unreadable", "bad", "", "", 0, 0, None, (), UNREADABLE
    )


def taint_text(taint: object) -> str:
    if not isinstance(taint, Mapping):
        return str(taint)
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def rank(resource: str) -> tuple[int, str]:
    """cpu, memory, then the others by name, pods last."""
    if resource in _FIRST:
        return _FIRST.index(resource), resource
    return (9 if resource == _LAST else 5), resource


def _room(resource: str, room: Json) -> RoomView:
    total = quantity.parse(resource, room["allocatable"])
    free = max(0, quantity.parse(resource, room["free"]))
    left, whole = quantity.readable(room["free"]), quantity.readable(room["allocatable"])
    return RoomView(text(resource), left, whole, percent(total - free, total))


def queue_line(row: Json) -> QueueLine:
    """One of `services.queues.list_queues`."""
    active: Json = next((c for c in row["conditions"] if c.get("type") == "Active"), {})
    idle = "Stopped" if row["state"] == "Stopped" else "Inactive"
    state = idle if active.get("status") == "False" else "Active"
    doors = [f"{door['namespace']}/{door['name']}" for door in row["localQueues"]]
    more = len(doors) - _MAX_DOORS
    return QueueLine(
        name=text(row["name"]),
        doors=text(", ".join(doors[:_MAX_DOORS]) + (f" and {more} more" if more > 0 else "")),
        cohort=text(row["cohort"]),
        strategy=text(row["strategy"]),
        state=state,
        tone="good" if state == "Active" else "bad",
        message=text(active.get("message")) if state != "Active" else "",
        pending=row["pending"],
        admitted=row["admitted"],
        quotas=tuple(_quota(q) for q in sorted(row["quotas"], key=quota_rank)),
    )


def unreadable_queue(row: Json) -> QueueLine:
    """The placeholder of an unreadable one."""
    return QueueLine(
        text(row.get("name")), "", "", "", "Unreadable", "bad", "", 0, 0, (), UNREADABLE
    )


def quota_rank(row: Json) -> tuple[tuple[int, str], str]:
    return rank(row["resource"]), row["flavor"]


def _quota(row: Json) -> QuotaLine:
    used = _amount(row, "used")
    nominal = _amount(row, "nominal")
    return QuotaLine(
        resource=text(row["resource"]),
        flavor=text(row["flavor"]),
        used=row["used"] or _UNLIMITED,
        nominal=row["nominal"] or _UNLIMITED,
        percent=percent(used, nominal) if nominal else 100 * bool(used),
        borrows=used > nominal,
    )


def _amount(row: Json, name: str) -> int:
    told = row[name]
    return quantity.MAX if told is None else quantity.parse(row["resource"], told)


def event_line(event: StoredEvent, now: dt.datetime) -> EventLine:
    """The event, and its object."""
    return EventLine(
        id=text(event.id),
        at=instant(event.at, now),
        reason=text(event.reason),
        tone="bad" if event.type == "Warning" else "calm",
        object=_object(event),
        message=text(event.message.partition("\n")[0]),  # the others are of a log
        href=_page_of(event),
    )


def _page_of(event: StoredEvent) -> str:
    """The page of an event's object; "" if it has none."""
    match event.kind:
        case "Job" | "Workload":
            return path_of("jobs", event.uid)
        case "MemberCluster":
            return path_of("clusters", event.name)
        case "ClusterQueue":
            return path_of("queues", event.name)
        case "LocalQueue":
            return path_of("queues", event.namespace, event.name)
        case _:
            return ""


def drift_lines(work: DriftedWork, now: dt.datetime) -> Sequence[DriftLine]:
    """The fields that have drifted."""
    return [
        DriftLine(
            cluster=text(work.cluster),
            object=_object(work),
            path=text(each["path"]),
            hub=text(each.get("hub")) or "–",
            member=text(each.get("member")) or "–",
            since=instant(each.get("first_seen"), now),
        )
        for each in work.drift
    ]


def _object(of: StoredEvent | DriftedWork) -> str:
    name = "/".join(part for part in (of.namespace, of.name) if part)
    return text(f"{of.kind} {name}")

"""Read models of the page: what a snapshot looks like to a person. Pure, no logic in the templates."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared import quantity

Row = Mapping[str, Any]
GPU = "nvidia.com/gpu"
_ROOMS = ("cpu", "memory", GPU)

# state → how it looks; the text always says the state too
_TONES = {
    "Succeeded": "good",
    "Running": "work",
    "Applied": "work",
    "Offered": "work",
    "Placed": "work",
    "Failed": "bad",
    "Unknown": "bad",
    "Deactivated": "bad",
    "Ready": "good",
    "Active": "good",
    "Suspect": "bad",
}
_TOTALS = (
    ("Waiting", "wait", ("Pending", "Held", "Reserved")),
    ("On the way", "work", ("Placed", "Offered", "Applied")),
    ("Running", "work", ("Running",)),
    ("Succeeded", "good", ("Succeeded",)),
    ("Failed", "bad", ("Failed", "Deactivated")),
    ("Unreachable", "bad", ("Unknown",)),
)
_MAX_SCORES = 6


@dataclass(frozen=True)
class Total:
    label: str
    tone: str
    count: int


@dataclass(frozen=True)
class Score:
    cluster: str
    score: str
    selected: bool
    reason: str


@dataclass(frozen=True)
class JobLine:
    namespace: str
    name: str
    queue: str
    state: str
    tone: str
    cluster: str
    why: str
    scores: tuple[Score, ...]
    age: str
    created: str


@dataclass(frozen=True)
class Room:
    free: str
    total: str
    percent: int  # used, of allocatable


@dataclass(frozen=True)
class ClusterLine:
    name: str
    labels: str
    state: str
    tone: str
    nodes: int
    rooms: tuple[Room | None, ...]
    jobs: int
    heartbeat: str


@dataclass(frozen=True)
class QuotaLine:
    label: str
    used: str
    nominal: str
    percent: int


@dataclass(frozen=True)
class QueueLine:
    name: str
    local: str
    state: str
    tone: str
    message: str
    quotas: tuple[QuotaLine, ...]
    pending: int
    admitted: int


@dataclass(frozen=True)
class DriftLine:
    cluster: str
    object: str
    path: str
    hub: str
    member: str
    since: str


@dataclass(frozen=True)
class PageView:
    """The whole page."""

    at: str
    totals: tuple[Total, ...]
    attention: tuple[str, ...]
    jobs: tuple[JobLine, ...]
    job_count: int
    clusters: tuple[ClusterLine, ...]
    queues: tuple[QueueLine, ...]
    drift: tuple[DriftLine, ...]


def page(snapshot: Row) -> PageView:
    """The page for what `services.front_page.read_front_page` gives."""
    now: dt.datetime = snapshot["at"]
    states: Mapping[str, int] = snapshot["states"]
    clusters = tuple(_cluster(c, now) for c in snapshot["clusters"])
    return PageView(
        at=now.strftime("%Y-%m-%d %H:%M:%S UTC"),
        totals=tuple(
            Total(label, tone, sum(states.get(s, 0) for s in members))
            for label, tone, members in _TOTALS
        ),
        attention=tuple(_attention(states, clusters)),
        jobs=tuple(_job(j, now) for j in snapshot["jobs"]),
        job_count=sum(states.values()),
        clusters=clusters,
        queues=tuple(_queue(q) for q in snapshot["queues"]),
        drift=tuple(_drift(w, d, now) for w in snapshot["drifts"] for d in w["drift"] or ()),
    )


def _attention(states: Mapping[str, int], clusters: Sequence[ClusterLine]) -> list[str]:
    lines = [
        f"Cluster {c.name} is silent since {c.heartbeat}; it gets no new work."
        for c in clusters
        if c.state == "Suspect"
    ]
    if states.get("Unknown"):
        lines.append(
            f"{states['Unknown']} jobs are on clusters that do not answer. They keep their quota and "
            "start nowhere else until it is certain that they do not run."
        )
    return lines


def _job(row: Row, now: dt.datetime) -> JobLine:
    decided = (row["scores"] or {}).get("clusters") or []
    return JobLine(
        namespace=row["namespace"],
        name=row["name"],
        queue=row["queue"],
        state=row["state"],
        tone=_TONES.get(row["state"], "wait"),
        cluster=row["cluster"],
        why=": ".join(part for part in (row["reason"], row["message"]) if part),
        scores=tuple(
            Score(
                d["cluster"],
                "" if d.get("score") is None else str(d["score"]),
                bool(d.get("selected")),
                d.get("message") or d.get("reason") or "",
            )
            for d in decided[:_MAX_SCORES]
        ),
        age=_age(row["created_at"], now),
        created=row["created_at"].isoformat(),
    )


def _cluster(row: Row, now: dt.datetime) -> ClusterLine:
    return ClusterLine(
        name=row["name"],
        labels=" ".join(f"{k}={v}" for k, v in sorted(row["labels"].items())),
        state=row["state"],
        tone=_TONES.get(row["state"], "wait"),
        nodes=row["nodeCount"],
        rooms=tuple(_room(name, row["resources"].get(name)) for name in _ROOMS),
        jobs=row["jobs"],
        heartbeat=f"{_age(_instant(row['heartbeatAt']), now)} ago"
        if row["heartbeatAt"]
        else "never",
    )


def _room(resource: str, room: Row | None) -> Room | None:
    if room is None:
        return None
    total = quantity.parse(resource, room["allocatable"])
    free = max(0, quantity.parse(resource, room["free"]))
    return Room(room["free"], room["allocatable"], _percent(total - free, total))


def _queue(row: Row) -> QueueLine:
    active: Row = next((c for c in row["conditions"] if c.get("type") == "Active"), {})
    state = "Stopped" if active.get("status") == "False" else "Active"
    doors = ", ".join(f"{q['namespace']}/{q['name']}" for q in row["localQueues"][:3])
    more = len(row["localQueues"]) - 3
    return QueueLine(
        name=row["name"],
        local=doors + (f" and {more} more" if more > 0 else ""),
        state=state,
        tone=_TONES.get(state, "wait"),
        message=str(active.get("message") or "") if state == "Stopped" else "",
        quotas=tuple(
            QuotaLine(
                f"{q['resource']} ({q['flavor']})",
                q["used"],
                q["nominal"],
                _percent(
                    quantity.parse(q["resource"], q["used"]),
                    quantity.parse(q["resource"], q["nominal"]),
                ),
            )
            for q in row["quotas"]
        ),
        pending=row["pending"],
        admitted=row["admitted"],
    )


def _drift(work: Row, each: Row, now: dt.datetime) -> DriftLine:
    name = "/".join(p for p in (work["namespace"], work["name"]) if p)
    return DriftLine(
        cluster=work["cluster"],
        object=f"{work['kind']} {name}",
        path=each["path"],
        hub=each.get("hub") or "–",
        member=each.get("member") or "–",
        since=_age(_instant(each["first_seen"]), now),
    )


def _percent(part: int, whole: int) -> int:
    return 0 if whole <= 0 else min(100, round(100 * part / whole))


def _instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _age(then: dt.datetime, now: dt.datetime) -> str:
    left = max(0, int((now - then).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if left >= size:
            return f"{left // size}{unit}"
    return f"{left}s"

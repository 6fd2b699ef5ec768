"""The page's read models: what was read, as records the templates show without thinking.

An unreadable row is replaced by a message; the others stay.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import structlog

from hub.services.context import timeline
from hub.services.questions.dashboard import (
    GROUPS,
    JOBS_PER_PAGE,
    MAX_PAGES,
    Asked,
    FleetRows,
    JobsPage,
    ShownJob,
)
from hub.store.records.history import StoredEvent
from hub.store.records.works import DriftedWork
from hub.web import fleet_view, job_view
from hub.web.fleet_view import ClusterLine, DriftLine, EventLine, QueueLine
from hub.web.job_view import JobLine
from hub.web.words import count, text
from shared.documents import Json

R = TypeVar("R", Json, StoredEvent, DriftedWork)
T = TypeVar("T")
_logger = structlog.get_logger(__name__)
MAX_CARDS: Final = 60  # clusters, and queues; those that need looking at come first
_LABELS: Final = {
    "waiting": ("Waiting", "wait"),
    "moving": ("On the way", "work"),
    "running": ("Running", "work"),
    "succeeded": ("Succeeded", "good"),
    "failed": ("Failed", "bad"),
    "cancelled": ("Cancelled", "calm"),
    "unreachable": ("Unreachable", "bad"),
}
_SELDOM: Final = frozenset({"cancelled", "unreachable"})  # shown if there are any


@dataclass(frozen=True, slots=True)
class Tab:
    """A group of states: how many jobs are in it (None: not counted), and the way to see them."""

    label: str
    tone: str
    count: int | None
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Chip:
    """Something that the table is narrowed to, and the way to see it without."""

    name: str
    value: str
    href: str


@dataclass(frozen=True, slots=True)
class JobsView:
    """The table of jobs."""

    jobs: tuple[JobLine, ...]
    any: bool  # are there jobs at all?
    filtered: bool
    chips: tuple[Chip, ...]
    text: str
    page: int
    newer: str  # address of the page before, or ""
    older: str
    title: str


@dataclass(frozen=True, slots=True)
class FleetView:
    """Everything that is the same for all viewers. None: could not be read."""

    attention: tuple[str, ...]
    clusters: tuple[ClusterLine, ...] | None
    more_clusters: int
    queues: tuple[QueueLine, ...] | None
    more_queues: int
    events: tuple[EventLine, ...] | None
    drift: tuple[DriftLine, ...] | None


def address(asked: Asked, **changes: Any) -> str:
    """The query that asks for this view, with changes; "" for the plain page."""
    values = {
        "state": asked.group,
        "q": asked.text,
        "owner": asked.owner,
        "namespace": asked.namespace,
        "queue": asked.queue,
        "cluster": asked.cluster,
        "page": asked.page,
        **changes,
    }
    given = {name: value for name, value in values.items() if value not in ("", 1)}
    return f"?{urlencode(given)}" if given else ""


def tabs(states: Mapping[str, int] | None, asked: Asked) -> tuple[Tab, ...]:
    """All jobs, then each group of states. Cached counts are fleet-wide: a limited reader has none."""
    known = states or {}
    of_part = asked.is_of_part
    counts = {group: sum(known.get(s, 0) for s in own) for group, own in GROUPS.items()}
    every = None if of_part else sum(known.values())
    shown = [Tab("All", "calm", every, _to(asked, ""), not asked.group)]
    for group, (label, tone) in _LABELS.items():
        if counts[group] or group not in _SELDOM or group in asked.groups:
            href = _to(asked, group)
            number = None if of_part else counts[group]
            shown.append(Tab(label, tone, number, href, group in asked.groups))
    return tuple(shown)


def _to(asked: Asked, group: str) -> str:
    return "/" + address(asked, state=group, page=1)


def jobs_view(
    found: JobsPage, states: Mapping[str, int] | None, asked: Asked, now: dt.datetime
) -> JobsView:
    """The page of jobs that `services.questions.dashboard` found."""
    first = (asked.page - 1) * JOBS_PER_PAGE + 1
    items = found.items
    shown = f"{first} to {first + len(items) - 1}" if items else "none"
    total = sum(states.values()) if states and not asked.is_narrowed else 0
    further = found.more and asked.page < MAX_PAGES
    return JobsView(
        jobs=tuple(_job_lines(items, now)),
        any=bool(items) or any((states or {}).values()),
        filtered=asked.is_narrowed,
        chips=tuple(_chips(asked)),
        text=asked.text,
        page=asked.page,
        newer="/" + address(asked, page=asked.page - 1) if asked.page > 1 else "",
        older="/" + address(asked, page=asked.page + 1) if further else "",
        title=f"{shown} of {total}" if total else shown,
    )


def _chips(asked: Asked) -> Iterator[Chip]:
    """The filters of the table, besides states; several states are shown, too."""
    if len(asked.groups) > 1:
        names = " or ".join(_LABELS[group][0].lower() for group in asked.groups)
        yield Chip("state", names, _to(asked, ""))
    for name in ("owner", "namespace", "queue", "cluster"):
        value = getattr(asked, name)
        if value:
            yield Chip(name, text(value), "/" + address(asked, **{name: "", "page": 1}))
    if asked.text:
        yield Chip("text", text(asked.text), "/" + address(asked, q="", page=1))


_TROUBLED: Final = frozenset({"Suspect", "Unhealthy"})


def fleet_view_of(fleet: FleetRows) -> FleetView:
    """The fleet as the page shows it; a row that can not be shown leaves the others."""
    now = fleet.at
    clusters = queues = events = drift = None
    if fleet.clusters is not None:
        found = sorted(fleet.clusters, key=lambda r: (r.get("state") not in _TROUBLED, r["name"]))
        clusters = _each(
            found[:MAX_CARDS],
            lambda r: fleet_view.cluster_line(r, now),
            fleet_view.unreadable_cluster,
        )
    if fleet.queues is not None:
        found = sorted(fleet.queues, key=lambda r: (-r.get("pending", 0), r["name"]))
        queues = _each(found[:MAX_CARDS], fleet_view.queue_line, fleet_view.unreadable_queue)
    if fleet.events is not None:
        events = _each(fleet.events, lambda r: fleet_view.event_line(r, now), None)
    if fleet.drifts is not None:
        each = _each(fleet.drifts, lambda r: fleet_view.drift_lines(r, now), None)
        drift = [line for lines in each for line in lines]
    return FleetView(
        attention=tuple(_attention(fleet, clusters or (), queues or (), drift or ())),
        clusters=_tuple(clusters),
        more_clusters=max(0, len(fleet.clusters or ()) - MAX_CARDS),
        queues=_tuple(queues),
        more_queues=max(0, len(fleet.queues or ()) - MAX_CARDS),
        events=_tuple(events),
        drift=_tuple(drift),
    )


def _attention(
    fleet: FleetRows,
    clusters: Sequence[ClusterLine],
    queues: Sequence[QueueLine],
    drift: Sequence[DriftLine],
) -> Iterable[str]:
    """Items that need attention."""
    if fleet.stopped:
        yield f"{timeline.CODE}: {fleet.stopped}."
    bridge = fleet.bridge or {}
    if bridge.get("reason") and not bridge["running"]:
        yield f"The bridge to the hub cluster is stopped ({bridge['reason']}): {bridge['message']}"
    for each in clusters:
        yield from _about(each)
    if fleet.forgotten:
        yield f"{fleet.forgotten['message']}."
    silent = _on_silent(fleet)
    if silent:
        yield (
            f"{count(silent, 'job is', 'jobs are')} on clusters that do not answer. Quota stays "
            "charged, and they start nowhere else until it is certain that they do not run."
        )
    for queue in queues:
        if queue.state in {"Stopped", "Inactive"} and queue.pending:
            waits = f"is {queue.state.lower()} with {count(queue.pending, 'job')} waiting"
            yield f"Queue {queue.name} {waits}: {queue.message}"
    if drift:
        yield f"{count(len(drift), 'field differs', 'fields differ')} from the hub's manifests: see Drift."


def _about(cluster: ClusterLine) -> Iterable[str]:
    """The reasons that keep new work from a member."""
    if cluster.state == "Suspect" and cluster.heartbeat is not None:
        yield (
            f"Cluster {cluster.name} has been silent for {cluster.heartbeat.age}: it gets no new work. "
            f"See: roadstead clusters show {cluster.name}"
        )
    if cluster.state == "Unhealthy":
        yield (
            f"Cluster {cluster.name} gets no new work: {cluster.message}. "
            f"See: roadstead clusters show {cluster.name}"
        )
    if cluster.state == "Declared":
        yield f"Cluster {cluster.name} is declared, but no agent has joined it yet."


def _on_silent(fleet: FleetRows) -> int:
    """Jobs that a silent cluster may run, those on their way to it or back included."""
    unknown: int = (fleet.states or {}).get("Unknown", 0)
    rows = fleet.clusters or ()
    held = [int(row.get("jobs", 0)) for row in rows if row.get("state") == "Suspect"]
    return max(unknown, sum(held))


def _job_lines(items: Iterable[ShownJob], now: dt.datetime) -> Iterator[JobLine]:
    for shown in items:
        try:
            yield job_view.job_line(shown, now)
        except Exception as fault:  # noqa: BLE001 - one unusable row must not take the page
            _logger.warning("a job can not be shown", uid=shown.job.uid, error=repr(fault))
            yield job_view.unreadable(shown.job)


def _each(rows: Iterable[R], make: Callable[[R], T], broken: Callable[[R], T] | None) -> list[T]:
    made: list[T] = []
    for row in rows:
        try:
            made.append(make(row))
        except Exception as fault:  # noqa: BLE001 - one unusable row must not take the page
            _logger.warning("a row can not be shown", uid=_uid_of(row), error=repr(fault))
            if broken is not None:
                made.append(broken(row))
    return made


def _uid_of(row: Json | StoredEvent | DriftedWork) -> object:
    return row.get("uid") if isinstance(row, dict) else row.uid


def _tuple(found: Sequence[T] | None) -> tuple[T, ...] | None:
    return None if found is None else tuple(found)

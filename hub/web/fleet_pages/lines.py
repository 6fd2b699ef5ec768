"""Common parts of the pages of queues and of clusters: jobs in a table, events, amounts as bars."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from hub.domain.access import UNKNOWN
from hub.services.context.rendering import requests_of
from hub.services.questions.pages.places import PlaceInLine
from hub.store.records.history import StoredEvent
from hub.store.records.lists import JobOnPage
from hub.web.words import Instant, instant, path_of, text, tone


@dataclass(frozen=True, slots=True)
class NamedPage:
    """A name, and the page that it leads to; "" if the reader may not see one."""

    name: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """One in line."""

    id: str
    place: int  # from 1
    job: NamedPage
    namespace: str
    owner: NamedPage
    queue: str
    priority: int
    since: Instant | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class HoldingJob:
    """One that holds quota, or that a cluster may hold."""

    id: str
    job: NamedPage
    namespace: str
    owner: NamedPage
    state: str
    tone: str
    cluster: NamedPage
    queue: NamedPage
    since: Instant | None
    asks: str  # of all its pods


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """One event."""

    id: str
    at: Instant | None
    reason: str
    bad: bool
    message: str


def waiting_job(each: PlaceInLine, now: dt.datetime) -> WaitingJob:
    """One row of who waits."""
    row = each.row
    return WaitingJob(
        id=text(row.uid),
        place=each.place + 1,
        job=NamedPage(text(row.name), path_of("jobs", row.uid)),
        namespace=text(row.namespace),
        owner=owner_link(row.owner),
        queue=text(row.queue),
        priority=row.priority,
        since=instant(row.queued_at, now),
        reason=text(row.reason),
        message=text(row.message or "has not been considered yet"),
    )


def holding_job(
    row: JobOnPage, now: dt.datetime, pod_sets: object, *, sees_clusters: bool
) -> HoldingJob:
    """One row of who is in. `pod_sets`: as they are stored."""
    cluster = path_of("clusters", row.cluster) if row.cluster and sees_clusters else ""
    return HoldingJob(
        id=text(row.uid),
        job=NamedPage(text(row.name), path_of("jobs", row.uid)),
        namespace=text(row.namespace),
        owner=owner_link(row.owner),
        state=text(row.state),
        tone=tone(row.state),
        cluster=NamedPage(text(row.cluster), cluster),
        queue=NamedPage(
            text(row.queue), path_of("queues", row.namespace, row.queue) if row.queue else ""
        ),
        since=instant(row.started_at or row.created_at, now),
        asks=asked(requests_of(pod_sets or ())),
    )


def asked(requests: Mapping[str, str]) -> str:
    """The requests of a job, in one line."""
    return ", ".join(f"{text(amount)} {text(name)}" for name, amount in requests.items())


def owner_link(owner: str) -> NamedPage:
    """The owner of a job: leads to all jobs of the owner."""
    return NamedPage(text(owner or UNKNOWN), asking(owner=owner or UNKNOWN))


def asking(**given: str) -> str:
    """The front page with the requested jobs."""
    return f"/?{urlencode(given)}"


def told(events: Sequence[StoredEvent], now: dt.datetime) -> tuple[ToldEvent, ...]:
    """Events, newest first."""
    return tuple(
        ToldEvent(
            id=text(each.id),
            at=instant(each.at, now),
            reason=text(each.reason),
            bad=each.type == "Warning",
            message=text(each.message.partition("\n")[0]),
        )
        for each in events
    )

"""One job as its page shows it, read and rendered part by part."""

import functools
import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hub.domain.access import Area, Scope
from hub.domain.workloads.course import Course, Happening, Now, course_of
from hub.domain.workloads.states import State
from hub.services.context.hub import Hub
from hub.services.explain import study
from hub.services.explain.as_it_is_now import quota_now
from hub.services.index.index import FindIndex
from hub.services.questions.job_record import JobRecord, read_record
from hub.store.records.history import StoredEvent
from hub.web import words
from hub.web.board import Looked
from hub.web.job_page import course as course_pictures, happened, head, outlook, quota, texts, why
from hub.web.shell import render_parts
from shared.documents import Json

_UNREADABLE: Final = {
    "head": "The head", "course": "Its course", "why": "Why it is in this state", "quota": "Its quota",
    "happened": "What happened", "failed": "The last lines of pods that failed", "texts": "Its manifest",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobView:
    """The page of one job for readers who see one part of the fleet, and values of variables in `values`.

    `sees_clusters`: names of clusters lead to their pages.
    """

    uid: str
    values: tuple[Area, ...]
    scope: Scope
    sees_clusters: bool

    async def look(self, hub: Hub, find_index: FindIndex) -> Looked:
        """Read and render it. Raises Rejected: NotFound, Forbidden."""
        began = hub.clock.monotonic()
        mine = hub.within(self.scope)
        record = await mine.read(read_record, self.uid, self.values)
        told = await study.explain(mine, self.uid, find_index, surveyed=True)
        queue = str(told.get("clusterQueue") or record.shown["clusterQueue"] or "")
        quotas = quota_now(find_index(), queue) if queue else []
        studied_s = hub.clock.monotonic() - began
        parts, cost_s = await hub.beside(_render, record, told, quotas, self.sees_clusters)
        return Looked(record.at, parts, studied_s + cost_s)


def _render(
    record: JobRecord, told: Json, quotas: list[Json], sees_clusters: bool
) -> tuple[Mapping[str, str], float]:
    """Its parts, and the processor time that took."""
    shown, now = record.shown, record.at

    @functools.cache
    def course() -> Course:
        return _course(record)

    @functools.cache
    def what_happened() -> Json:
        first = None if record.cut else _submitted(record)
        return {"happened": happened.happened_of(record.told, first, now)}

    def picture() -> Json:
        state = str(shown["state"])
        return {"picture": course_pictures.picture_of(course(), now, state, cut=record.cut)}

    parts, cost_s = render_parts(
        "job",
        {
            "head": lambda: {"head": head.head_of(shown, told, course(), now)},
            "course": picture,
            "why": lambda: _why(shown, told),
            "quota": lambda: _quota(shown, told, quotas),
            "happened": what_happened,
            "failed": what_happened,
            "texts": lambda: {
                "manifest": texts.manifest_text(shown["manifest"]),
                "commands": texts.commands_of(shown),
            },
        },
        {"sees_clusters": sees_clusters},
        _UNREADABLE,
    )
    title = words.text(f"{shown['namespace']}/{shown['name']}: {shown['state']}: Roadstead")
    return {**parts, "title": html.escape(title)}, cost_s


def _why(shown: Json, told: Json) -> Json:
    return {
        "standing": why.standing_of(shown, told),
        "outlook": outlook.outlook_of(told),
        "waits": not shown["cluster"] and not shown["finishedAt"],
        "held": shown["state"] == State.HELD,
    }


def _quota(shown: Json, told: Json, quotas: list[Json]) -> Json:
    queue = str(told.get("clusterQueue") or shown["clusterQueue"] or "")
    bars, href = quota.quota_bars(shown, quotas), words.path_of("queues", queue)
    return {"bars": bars, "queue": words.text(queue), "href": href}


def _course(record: JobRecord) -> Course:
    shown = record.shown
    ended = shown["finishedAt"]
    now = Now(
        state=shown["state"],
        created_at=words.moment(shown["createdAt"]),
        ended_at=words.moment(ended) if ended else None,
        reason=str(shown["reason"] or ""),
        message=str(shown["message"] or ""),
    )
    return course_of(
        now, [Happening(e.at, e.reason, e.message, e.cluster, e.cause) for e in record.told]
    )


def _submitted(record: JobRecord) -> StoredEvent:
    """The first event of every job stands in its record."""
    shown = record.shown
    queue = f"to queue {shown['queue']}" if shown["queue"] else "to no queue"
    return StoredEvent(
        id=0,
        at=words.moment(shown["createdAt"]),
        uid=shown["uid"],
        kind=shown["kind"],
        namespace=shown["namespace"],
        name=shown["name"],
        type="Normal",
        reason="Submitted",
        message=f"by {shown['owner']}, {queue}",
    )

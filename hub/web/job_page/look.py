"""One job as its page shows it, read and rendered part by part."""

import html
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from hub.domain.access import Area, Scope
from hub.domain.workloads.course import Course, Happening, Now, course_of
from hub.domain.workloads.states import State
from hub.services.context.hub import Hub, HubWithin
from hub.services.explain import study
from hub.services.explain.as_it_is_now import quota_now
from hub.services.index.index import FindIndex
from hub.services.questions.job_record import JobRecord, read_record
from hub.store.records.history import StoredEvent
from hub.web import words
from hub.web.board import Looked
from hub.web.job_page import course as course_pictures, happened, head, outlook, quota, texts, why
from hub.web.shell import templates
from shared.documents import Json

_logger = structlog.get_logger(__name__)
PARTS: Final = ("head", "course", "why", "quota", "happened", "failed", "texts")
_UNREADABLE: Final = {
    "head": "The head", "course": "Its course", "why": "Why it is where it is", "quota": "Its quota",
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
        mine = hub if self.scope.is_everything else HubWithin(hub, self.scope)
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
    """Its parts, and the processor time that took; one that can not be shown says so."""
    began = time.thread_time()
    parts: dict[str, str] = {}
    for name in PARTS:
        try:
            values = _values(name, record, told, quotas)
            values["sees_clusters"] = sees_clusters
            parts[name] = templates.get_template(f"job/{name}.html").render(**values)
        except Exception:  # the other parts of the page stay
            _logger.exception("a part of the page of a job can not be shown", part=name)
            parts[name] = templates.get_template("job/fault.html").render(what=_UNREADABLE[name])
    shown = record.shown
    title = words.text(f"{shown['namespace']}/{shown['name']}: {shown['state']}: Roadstead")
    parts["title"] = html.escape(title)
    return parts, time.thread_time() - began


def _values(name: str, record: JobRecord, told: Json, quotas: list[Json]) -> Json:
    """What one template is given."""
    shown, now = record.shown, record.at
    match name:
        case "head":
            return {"head": head.head_of(shown, told, _course(record), now)}
        case "course":
            picture = course_pictures.picture_of(
                _course(record), now, str(shown["state"]), cut=record.cut
            )
            return {"picture": picture}
        case "why":
            standing = why.standing_of(shown, told)
            return {
                "standing": standing,
                "outlook": outlook.outlook_of(told),
                "waits": not shown["cluster"] and not shown["finishedAt"],
                "held": shown["state"] == State.HELD,
            }
        case "quota":
            queue = str(told.get("clusterQueue") or shown["clusterQueue"] or "")
            href = words.path_of("queues", queue)
            bars = quota.quota_bars(shown, quotas)
            return {"bars": bars, "queue": words.text(queue), "href": href}
        case "happened" | "failed":
            first = None if record.cut else _submitted(record)
            return {"happened": happened.happened_of(record.told, first, now)}
        case _:
            return {
                "manifest": texts.manifest_text(shown["manifest"]),
                "commands": texts.commands_of(shown),
            }


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
    return course_of(now, [Happening(e.at, e.reason, e.message) for e in record.told])


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

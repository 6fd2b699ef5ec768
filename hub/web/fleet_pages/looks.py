"""Pages of queues and clusters, read and rendered part by part for those who see the same."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from hub.domain.access import Scope
from hub.services.context.hub import Hub
from hub.services.index.index import FindIndex
from hub.services.questions import clusters, queues, visibility
from hub.services.questions.pages import places
from hub.services.questions.pages.places import ClusterRecord, QueueRecord
from hub.web import words
from hub.web.board import Looked
from hub.web.fleet_pages import cluster_view, lines, queue_view
from hub.web.fleet_view import (
    cluster_line,
    drift_lines,
    queue_line,
    unreadable_cluster,
    unreadable_queue,
)
from hub.web.shell import render_parts
from shared.documents import Json

MOST_ROWS: Final = 200
_TROUBLED: Final = frozenset({"Suspect", "Unhealthy", "Fenced", "Declared"})
_logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class QueuesView:
    """All ClusterQueues, those of which `text` is part of a name."""

    text: str
    scope: Scope

    async def look(self, hub: Hub, find_index: FindIndex) -> Looked:
        """Read and render it."""
        began = hub.clock.monotonic()
        found = await hub.within(self.scope).read(queues.list_queues)
        named = [each for each in found["items"] if self.text in each["name"]]
        rows = sorted(named, key=lambda r: (-r.get("pending", 0), r["name"]))
        spent = hub.clock.monotonic() - began

        def listed() -> Json:
            shown = [_or(queue_line, unreadable_queue, row) for row in rows[:MOST_ROWS]]
            more = max(0, len(rows) - MOST_ROWS)
            return {"queues": shown, "more": more, "all": len(found["items"]), "text": self.text}

        parts, cost = await hub.beside(render_parts, "fleet", {"queues": listed})
        return Looked(hub.clock.now(), parts, spent + cost)


@dataclass(frozen=True, slots=True)
class ClustersView:
    """All members, those of which `text` is part of a name; those that need looking at come first."""

    text: str

    async def look(self, hub: Hub, find_index: FindIndex) -> Looked:
        """Read and render it."""
        began, now = hub.clock.monotonic(), hub.clock.now()
        found = (await hub.read(clusters.list_clusters, hub.settings))["items"]
        named = [each for each in found if self.text in each["name"]]
        rows = sorted(named, key=lambda r: (r["state"] not in _TROUBLED, r["name"]))
        spent = hub.clock.monotonic() - began

        def listed() -> Json:
            shown = [
                _or(lambda row: cluster_line(row, now), unreadable_cluster, row)
                for row in rows[:MOST_ROWS]
            ]
            more = max(0, len(rows) - MOST_ROWS)
            return {"clusters": shown, "more": more, "all": len(found), "text": self.text}

        parts, cost = await hub.beside(render_parts, "fleet", {"clusters": listed})
        return Looked(now, parts, spent + cost)


@dataclass(frozen=True, slots=True)
class QueueView:
    """One ClusterQueue, or with `namespace` a LocalQueue. `sees_clusters`: their names lead to pages."""

    namespace: str
    name: str
    scope: Scope
    sees_clusters: bool

    async def look(self, hub: Hub, find_index: FindIndex) -> Looked:
        """Read and render it. Raises Rejected: NotFound."""
        began = hub.clock.monotonic()
        index = find_index()
        if self.namespace:
            leads = visibility.queue_of(index, (self.namespace, self.name))
            line = visibility.line_view(index, leads, places.MOST_IN_LINE)
        else:
            line = visibility.line_view(index, self.name, places.MOST_WAITING)
        mine = hub.within(self.scope)
        record = await mine.read(places.read_queue, self.namespace, self.name, line)
        spent = hub.clock.monotonic() - began
        parts, cost = await hub.beside(self._render, record)
        return Looked(record.at, parts, spent + cost)

    def _render(self, record: QueueRecord) -> tuple[Mapping[str, str], float]:
        shown, now = record.shown, record.at

        def waiting() -> Json:
            rows = [lines.waiting_job(each, now) for each in record.waiting]
            total = shown["pending"]
            return {"rows": rows, "more": max(0, total - len(rows)), "total": total}

        def holding() -> Json:
            rows = [
                lines.holding_job(
                    row, now, record.shapes.get(row.shape), sees_clusters=self.sees_clusters
                )
                for row in record.holding
            ]
            total = max(len(rows), shown["reserving"])
            return {"rows": rows, "more": total - len(rows), "total": total, "on": "queue"}

        parts, cost = render_parts(
            "fleet",
            {
                "queue-head": lambda: {"head": queue_view.head_of(shown, record.policy)},
                "quota": lambda: {"bars": queue_view.bars_of(shown.get("quotas", ()))},
                "tree": lambda: {
                    "steps": queue_view.steps_of(record.cohorts, self.name), "name": self.name,
                },
                "doors": lambda: {"doors": queue_view.doors_of(shown)},
                "waiting": waiting,
                "holding": holding,
                "told": lambda: {"events": lines.told(record.told, now)},
            }
        )  # fmt: skip
        title = f"{self.name}: {shown['kind']}: Roadstead"
        return {**parts, "title": html.escape(words.text(title))}, cost


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One member."""

    name: str

    async def look(self, hub: Hub, find_index: FindIndex) -> Looked:
        """Read and render it. Raises Rejected: NotFound."""
        began = hub.clock.monotonic()
        record = await hub.read(places.read_cluster, self.name, hub.settings)
        spent = hub.clock.monotonic() - began
        parts, cost = await hub.beside(self._render, record)
        return Looked(record.at, parts, spent + cost)

    def _render(self, record: ClusterRecord) -> tuple[Mapping[str, str], float]:
        shown, now = record.shown, record.at

        def holding() -> Json:
            rows = [
                lines.holding_job(row, now, record.shapes.get(row.shape), sees_clusters=True)
                for row in record.holding
            ]
            total = max(len(rows), shown["jobs"])
            return {"rows": rows, "more": total - len(rows), "total": total, "on": "cluster"}

        def drift() -> Json:
            found = [line for work in record.drifts for line in drift_lines(work, now)]
            return {"drift": found, "unheard": cluster_view.unheard_of(shown)}

        parts, cost = render_parts(
            "fleet",
            {
                "cluster-head": lambda: {"head": cluster_view.head_of(shown, now)},
                "lacks": lambda: {"lacks": cluster_view.lacks_of(shown, now)},
                "room": lambda: {"rooms": cluster_view.rooms_of(shown)},
                "facts": lambda: {"facts": cluster_view.facts_of(shown, record.works)},
                "holding": holding,
                "member-drift": drift,
                "told": lambda: {"events": lines.told(record.told, now)},
            },
        )
        title = f"{self.name}: {shown['state']}: Roadstead"
        return {**parts, "title": html.escape(words.text(title))}, cost


def _or(make: Callable[[Json], object], broken: Callable[[Json], object], row: Json) -> object:
    """A line, or one that says that it can not be shown: the others stay."""
    try:
        return make(row)
    except Exception as fault:  # noqa: BLE001 - one unusable row must not take the page
        _logger.warning("a row can not be shown", name=row.get("name"), error=repr(fault))
        return broken(row)

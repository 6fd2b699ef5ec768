"""The front page: jobs, clusters, queues, drift and events of the whole fleet, in separate parts."""

import datetime as dt
import time
from collections.abc import Mapping
from dataclasses import dataclass

from hub.domain.access import Area, Scope
from hub.services.context.hub import Hub
from hub.services.explain.as_it_is_now import WaitingView, waiting_view
from hub.services.index.index import FindIndex
from hub.services.questions.dashboard import Asked, BoardPage, FoundJobs, find_jobs, read_page
from hub.web import views
from hub.web.board import Looked
from hub.web.shell import templates
from shared.documents import Json


@dataclass(frozen=True, slots=True)
class FrontView:
    """The front page with the jobs that `asked` names, for readers who see those parts of the fleet."""

    asked: Asked
    sees: tuple[Area, ...]

    async def look(self, hub: Hub, find_index: FindIndex) -> Looked:
        """Read and render it."""
        scope = Scope(self.sees, self.sees)
        mine = hub.within(scope)
        found = await mine.read(find_jobs, self.asked)
        waiting = await _waiting(hub, find_index, found)
        page = await mine.read(read_page, found, waiting, hub.settings)
        at, parts, cost_s = await hub.beside(_render, page, self.asked, scope)
        return Looked(at, parts, cost_s)


async def _waiting(hub: Hub, find_index: FindIndex, found: FoundJobs) -> Mapping[str, WaitingView]:
    """The jobs that wait as the index has them, one after the other: others go on in between."""
    waiting: dict[str, WaitingView] = {}
    for uid in found.waiting():
        view = waiting_view(find_index(), uid)
        if view is not None:
            waiting[uid] = view
        await hub.clock.sleep(0)
    return waiting


def _render(
    page: BoardPage, asked: Asked, scope: Scope
) -> tuple[dt.datetime, Mapping[str, str], float]:
    """Render what was read, beside the event loop: the moment, the parts, processor time in s of both."""
    began = time.thread_time()
    at = page.fleet.at
    view = views.fleet_view_of(page.fleet)
    jobs = views.jobs_view(page.jobs, page.fleet.states, asked, at)
    given: dict[str, Json] = {
        "tabs": {"tabs": views.tabs(page.fleet.states, asked)},
        "attention": {"lines": view.attention},
        "jobs": {"view": jobs, "sees_clusters": scope.is_everything},
        "clusters": {"clusters": view.clusters, "more": view.more_clusters},
        "queues": {"queues": view.queues, "more": view.more_queues},
        "events": {"events": view.events},
        "drift": {"drift": view.drift, "sees_clusters": scope.is_everything},
    }
    parts = {
        name: templates.get_template(f"{name}.html").render(**values)
        for name, values in given.items()
    }
    for name, to in _not_shown(scope).items():
        parts[name] = templates.get_template("not_shown.html").render(to=to)
    return at, parts, page.cost_s + time.thread_time() - began


def _not_shown(scope: Scope) -> Mapping[str, str]:
    """Parts that are empty for a reader limited to `scope`: their readers."""
    if scope.is_everything:
        return {}
    hidden = {"clusters": "all namespaces"}
    if all(area.queues is not None for area in scope.sees):  # only jobs are in queues
        of = "a namespace, not in queues of it alone"
        hidden |= dict.fromkeys(("queues", "events", "drift"), of)
    return hidden

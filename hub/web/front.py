"""The front page: jobs, clusters, queues, drift and events of the whole fleet, each part by itself."""

import datetime as dt
import time
from collections.abc import Mapping
from dataclasses import dataclass

from hub.services.context.hub import Hub
from hub.services.explain.as_it_is_now import WaitingView, waiting_view
from hub.services.questions.dashboard import Asked, BoardPage, FoundJobs, find_jobs, read_page
from hub.web import views
from hub.web.board import FindIndex, Looked
from hub.web.shell import templates
from shared.documents import Json


@dataclass(frozen=True, slots=True)
class FrontView:
    """The front page with the jobs that `asked` names."""

    asked: Asked

    async def look(self, hub: Hub, find_index: FindIndex) -> Looked:
        """Read and render it."""
        found = await hub.read(find_jobs, self.asked)
        waiting = await _waiting(hub, find_index, found)
        page = await hub.read(read_page, found, waiting, hub.settings)
        at, parts, cost_s = await hub.beside(_render, page, self.asked)
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


def _render(page: BoardPage, asked: Asked) -> tuple[dt.datetime, Mapping[str, str], float]:
    """Render what was read, beside the event loop: the moment, the parts, processor time in s of both."""
    began = time.thread_time()
    at = page.fleet.at
    view = views.fleet_view_of(page.fleet)
    jobs = views.jobs_view(page.jobs, page.fleet.states, asked, at)
    given: dict[str, Json] = {
        "tabs": {"tabs": views.tabs(page.fleet.states, asked)},
        "attention": {"lines": view.attention},
        "jobs": {"view": jobs},
        "clusters": {"clusters": view.clusters, "more": view.more_clusters},
        "queues": {"queues": view.queues, "more": view.more_queues},
        "events": {"events": view.events},
        "drift": {"drift": view.drift},
    }
    parts = {
        name: templates.get_template(f"{name}.html").render(**values)
        for name, values in given.items()
    }
    return at, parts, page.cost_s + time.thread_time() - began

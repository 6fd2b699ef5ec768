"""What people see, read and rendered once for all who look at the same and may see the same.

A part is HTML with the id it has on the page. Looking never weighs on the hub: whoever asks again
within `pause_s` gets what is there, and `pause_s` grows with the processor time that reading took,
so that all views together take about a tenth of one thread, however many watch them.
"""

import asyncio
import datetime as dt
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jinja2

from hub.domain.access import Area, Scope
from hub.services.context.hub import Hub, HubWithin
from hub.services.explain.as_it_is_now import WaitingView, waiting_view
from hub.services.index.index import ScheduleIndex
from hub.services.questions.dashboard import Asked, BoardPage, FoundJobs, find_jobs, read_page
from hub.web import views
from shared.documents import Json

_LEAST_PAUSE_S: Final = 0.5  # a busy hub changes all the time; people read twice a second at best
_SHARE: Final = 9  # times the processor time of reading it
_FRESH_S: Final = 5.0  # what only time changes (a silent cluster) is seen within this
_MOST_KEPT: Final = 64
_HERE: Final = Path(__file__).parent
_View = tuple[tuple[Area, ...], Asked]
FindIndex = Callable[[], ScheduleIndex | None]

templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True)
class Sight:
    """One view at one moment: its parts by name, and when it may be read again."""

    at: dt.datetime
    revision: int  # of the change feed, before it was read
    parts: Mapping[str, str]
    read_at: float  # monotonic
    pause_s: float


class Board:
    """The views that somebody looks at, by what is asked and by what they may see: no part of one
    is ever shown to who may see less, or other things.
    """

    def __init__(self, hub: Hub, find_index: FindIndex) -> None:
        self._hub = hub
        self._find_index = find_index
        self._kept: OrderedDict[_View, Sight] = OrderedDict()
        self._turn = asyncio.Lock()

    async def see(self, asked: Asked, scope: Scope) -> Sight:
        """The view that `asked` names of what `scope` shows, as it is, or was a moment ago."""
        view = (scope.sees, asked)
        found = self._kept.get(view)
        if found is None or self._is_old(found):
            async with self._turn:  # one reads, the others take what it found
                found = self._kept.get(view)
                if found is None or self._is_old(found):
                    found = await self._look(asked, scope)
                    self._keep(view, found)
        return found

    def is_behind(self, sight: Sight) -> bool:
        """Has anything been committed since?"""
        return self._hub.db.revision > sight.revision

    def _is_old(self, sight: Sight) -> bool:
        age = self._hub.clock.monotonic() - sight.read_at
        return age > _FRESH_S or (age >= sight.pause_s and self.is_behind(sight))

    def _keep(self, view: _View, sight: Sight) -> None:
        self._kept[view] = sight
        self._kept.move_to_end(view)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)

    def _looked_at(self) -> int:
        """How many views are renewed at present."""
        since = self._hub.clock.monotonic() - _FRESH_S
        return sum(sight.read_at >= since for sight in self._kept.values())

    async def _look(self, asked: Asked, scope: Scope) -> Sight:
        revision = self._hub.db.revision
        hub = HubWithin(self._hub, scope)
        found = await hub.read(find_jobs, asked)
        page = await hub.read(read_page, found, await self._views(found), hub.settings)
        at, parts, cost_s = await hub.beside(_render, page, asked, scope)
        pause_s = max(_LEAST_PAUSE_S, _SHARE * cost_s * max(1, self._looked_at()))
        return Sight(at, revision, parts, hub.clock.monotonic(), pause_s)

    async def _views(self, found: FoundJobs) -> dict[str, WaitingView]:
        """The jobs that wait as the index has them, one after the other: others go on in between."""
        views: dict[str, WaitingView] = {}
        for uid in found.waiting():
            view = waiting_view(self._find_index(), uid)
            if view is not None:
                views[uid] = view
            await self._hub.clock.sleep(0)
        return views


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
    for name, to in _not_shown(scope).items():
        parts[name] = templates.get_template("not_shown.html").render(to=to)
    return at, parts, page.cost_s + time.thread_time() - began


def _not_shown(scope: Scope) -> Mapping[str, str]:
    """Parts that are empty for who sees no more than `scope`: to whom they are shown."""
    if scope.is_everything:
        return {}
    hidden = {"clusters": "all namespaces"}
    if all(area.queues is not None for area in scope.sees):  # only jobs are in queues
        hidden |= dict.fromkeys(
            ("queues", "events", "drift"), "a namespace, not in queues of it alone"
        )
    return hidden

"""Views of the page, read and rendered once for all viewers of the same view with the same rights.

A view names the content of a page and its readers' rights; equal views are read once. A part is HTML with
the id it has
on the page. Reading never loads the hub: a request within `pause_s` gets the cached view, and `pause_s`
grows with the processor time of a read, so that all views together take about a tenth of one thread,
however many watch them.
"""

import asyncio
import datetime as dt
from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

from starlette.requests import Request

from hub.api.policy import find_index_of
from hub.services.context.hub import Hub
from hub.services.index.index import FindIndex

_LEAST_PAUSE_S: Final = 0.5  # a busy hub changes all the time; people read twice a second at best
_SHARE: Final = 9  # times the processor time of reading it
_FRESH_S: Final = 5.0  # what only time changes (a silent cluster) is seen within this
_AT_ONCE: Final = 3  # views of one kind
_MOST_KEPT: Final = 64


class Looked(NamedTuple):
    """One view as it was found: its parts by name, and the processor time that it took, in s."""

    at: dt.datetime
    parts: Mapping[str, str]
    cost_s: float


class View(Hashable, Protocol):
    """The content of one page for readers with equal rights; equal ones are read once for all of them.

    A frozen dataclass that holds everything by which its parts differ: names, filters, the reader's scope.
    """

    async def look(self, hub: Hub, find_index: FindIndex) -> Looked:
        """Read and render it. Raises Rejected(NotFound) if its object does not exist, or no longer does."""
        ...


@dataclass(frozen=True, slots=True)
class Sight:
    """One view at one moment: its parts by name, and when it may be read again."""

    at: dt.datetime
    revision: int  # of the change feed, before it was read
    parts: Mapping[str, str]
    read_at: float  # monotonic
    pause_s: float


class Board:
    """The views with readers."""

    def __init__(self, hub: Hub, find_index: FindIndex) -> None:
        self._hub = hub
        self._find_index = find_index
        self._kept: OrderedDict[View, Sight] = OrderedDict()
        self._turns: WeakValueDictionary[View, asyncio.Lock] = WeakValueDictionary()
        # Few of each kind are read at a time: a page that takes long keeps no other kind waiting.
        self._few: defaultdict[type[View], asyncio.Semaphore] = defaultdict(_few)

    async def see(self, view: View) -> Sight:
        """The view as it is, or was a moment ago. Raises as its `look` does."""
        found = self._kept.get(view)
        if found is None or self._is_old(found):
            turn = self._turns.setdefault(view, asyncio.Lock())
            async with turn, self._few[type(view)]:  # one reads, the others take what it found
                found = self._kept.get(view)
                if found is None or self._is_old(found):
                    found = await self._look(view)
                    self._keep(view, found)
        return found

    def is_behind(self, sight: Sight) -> bool:
        """Has anything been committed since?"""
        return self._hub.db.revision > sight.revision

    def _is_old(self, sight: Sight) -> bool:
        age = self._hub.clock.monotonic() - sight.read_at
        return age > max(_FRESH_S, sight.pause_s) or (
            age >= sight.pause_s and self.is_behind(sight)
        )

    def _keep(self, view: View, sight: Sight) -> None:
        self._kept[view] = sight
        self._kept.move_to_end(view)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)

    def _renewed(self) -> int:
        """The number of views that are renewed at present."""
        since = self._hub.clock.monotonic() - _FRESH_S
        return sum(sight.read_at >= since for sight in self._kept.values())

    async def _look(self, view: View) -> Sight:
        hub, revision = self._hub, self._hub.db.revision
        at, parts, cost_s = await view.look(hub, self._find_index)
        pause_s = max(_LEAST_PAUSE_S, _SHARE * cost_s * max(1, self._renewed()))
        return Sight(at, revision, parts, hub.clock.monotonic(), pause_s)


def _few() -> asyncio.Semaphore:
    return asyncio.Semaphore(_AT_ONCE)


def board_of(request: Request) -> Board:
    """The board of this application."""
    state = request.app.state
    if not hasattr(state, "board"):
        # Of the whole hub: each view cuts it to what its reader sees.
        state.board = Board(state.hub, find_index_of(request))
    board = state.board
    assert isinstance(board, Board)
    return board

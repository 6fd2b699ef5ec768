"""The live page: the whole of it once, then each part again when it has changed.

The page has no API of its own and reads nothing but what a viewer may read. All state of a view is
in its address, so that a view can be kept and sent.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hub.api.limits import spend
from hub.api.policy import PUBLIC, allow, hub_of
from hub.api.routing import new_router
from hub.api.streams import count_stream, counted, hear, rest
from hub.domain.instants import stamp
from hub.services.explain import study
from hub.services.index.index import ScheduleIndex
from hub.services.questions.dashboard import GROUPS, MAX_PAGES, Asked
from hub.web import access, reference
from hub.web.access import HEADERS, viewer
from hub.web.actions import routes as actions
from hub.web.board import Board, templates
from hub.web.views import address
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "actions.js": "text/javascript; charset=utf-8",
    "mark.svg": "image/svg+xml",
}
_STATIC: Final = {name: (_FOLDER / name).read_bytes() for name in _TYPES}
# In the addresses of the files: a browser keeps each version for good and never mixes two.
_VERSION: Final = hashlib.sha256(b"".join(_STATIC.values())).hexdigest()[:12]
_KEEP: Final = {"Cache-Control": "max-age=31536000, immutable"}
_BEAT_S: Final = 5.0  # ages move on, and a revoked token ends the stream
_MOST_TEXT: Final = 120
router = new_router("page")
router.routes.extend([*access.router.routes, *reference.router.routes, *actions.router.routes])


@router.get("/", include_in_schema=False)
@allow(PUBLIC)
async def front(request: Request) -> Response:
    """The page, or the way in."""
    who = await viewer(request)
    if who is None:
        return _html("login.html", wrong="wrong" in request.query_params)
    spend(hub_of(request), who, "reads")
    asked = asked_of(request.query_params)
    sight = await _board(request).see(asked)
    return _html("page.html", asked=asked, query=address(asked), sight=sight, who=who)


@router.get("/jobs/{uid}", include_in_schema=False)
@allow(PUBLIC)
async def job(request: Request, uid: str) -> Response:
    """Why one job waits, what would change it, when it is expected to start, and what happened to it."""
    who = await viewer(request)
    if who is None:
        return _html("login.html", wrong=False)
    spend(hub_of(request), who, "reads")
    find_index = getattr(request.app.state, "schedule_index", _no_index)
    try:
        told = await study.explain(hub_of(request), uid, find_index)
    except Rejected as refusal:
        if refusal.code is not RejectCode.NOT_FOUND:
            raise
        return _html("absent.html", 404, uid=uid)
    return _html("job.html", told=told)


def nothing_here(request: Request) -> Response | None:
    """The page for an address that is none; None for who did not ask for a page."""
    if request.method not in {"GET", "HEAD"}:
        return None
    if "text/html" not in request.headers.get("accept", ""):
        return None
    path = request.scope["path"][:_MOST_TEXT].encode(errors="replace").decode()
    return _html("nothing.html", 404, path=path)


@router.get("/static/{name}", include_in_schema=False)
@allow(PUBLIC)
async def static(request: Request, name: str) -> Response:
    """Style, script and sign of the page."""
    if name not in _STATIC:
        raise Rejected(RejectCode.NOT_FOUND, "there is nothing at this path")
    kept = _KEEP if request.query_params.get("v") == _VERSION else {}
    return Response(_STATIC[name], 200, {**HEADERS, **kept}, _TYPES[name])


@router.get("/live", include_in_schema=False)
@allow(PUBLIC)
async def live(request: Request) -> Response:
    """The parts of a view as server-sent events: all at first, then those that have changed."""
    who = await viewer(request)
    if who is None:
        raise Rejected(RejectCode.UNAUTHENTICATED, "sign in first")
    streams = count_stream(request, who)
    asked = asked_of(request.query_params)
    renewals = counted(streams, who.id, _renewals(request, asked))
    return StreamingResponse(renewals, 200, HEADERS, "text/event-stream")


def asked_of(query: QueryParams) -> Asked:
    """The view that an address names; what makes no sense in it is left out."""
    group, page = query.get("state", ""), query.get("page", "")
    return Asked(
        group=group if group in GROUPS else "",
        text=query.get("q", "").strip()[:_MOST_TEXT],
        page=min(max(1, int(page[:6])), MAX_PAGES) if page.isdecimal() else 1,
    )


async def _renewals(request: Request, asked: Asked) -> AsyncIterator[bytes]:
    hub, board = hub_of(request), _board(request)
    feed = hub.subscribe(keyed=False)
    shown: Mapping[str, str] = {}
    try:
        while not hub.closing.is_set() and not await request.is_disconnected():
            if await viewer(request) is None:
                yield b"event: ended\ndata: {}\n\n"
                return
            feed.take()
            sight = await board.see(asked)
            news = {name: html for name, html in sight.parts.items() if shown.get(name) != html}
            shown = sight.parts
            yield b"data: %b\n\n" % orjson.dumps({"at": stamp(sight.at), "parts": news})
            await rest(hub, sight.pause_s)
            if not board.is_behind(sight):
                await hear(hub, feed, _BEAT_S)
    finally:
        feed.close()


def _board(request: Request) -> Board:
    """The board of this application."""
    state = request.app.state
    if not hasattr(state, "board"):
        state.board = Board(hub_of(request), getattr(state, "schedule_index", _no_index))
    board = state.board
    assert isinstance(board, Board)
    return board


def _no_index() -> ScheduleIndex | None:
    """A hub without scheduler knows what the store knows."""
    return None


def _html(template: str, status: int = 200, **values: object) -> Response:
    text = templates.get_template(template).render(version=_VERSION, **values)
    return Response(text, status, HEADERS, "text/html")

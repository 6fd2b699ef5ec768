"""The parts of a page as server-sent events: all at first, then those that have changed.

A page names its stream (`data-stream` of `#board`) and its parts (`id="part-NAME"`); `page.js` brings what
is shown in line with what comes.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hub.api.policy import hub_of
from hub.api.streams import count_stream, counted, hear, rest
from hub.domain.instants import stamp
from hub.services.access.credentials import Principal
from hub.web.access import HEADERS, viewer
from hub.web.board import View, board_of
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_BEAT_S: Final = 5.0  # ages move on, and a revoked token ends the stream
_OVER: Final = b"event: ended\ndata: {}\n\n"  # the page must be loaded again
MakeView = Callable[[Principal], View]


async def follow(request: Request, view_for: MakeView) -> Response:
    """The stream of a page; `view_for`: what its reader sees, asked again with each renewal.

    Raises Rejected: Unauthenticated, TooManyStreams.
    """
    who = await viewer(request)
    if who is None:
        raise Rejected(RejectCode.UNAUTHENTICATED, "sign in first")
    streams = count_stream(request, who)
    renewals = counted(streams, who.id, _renewals(request, view_for))
    return StreamingResponse(renewals, 200, HEADERS, "text/event-stream")


async def _renewals(request: Request, view_for: MakeView) -> AsyncIterator[bytes]:
    hub, board = hub_of(request), board_of(request)
    feed = hub.subscribe(keyed=False)
    shown: Mapping[str, str] = {}
    try:
        while not hub.closing.is_set() and not await request.is_disconnected():
            who = await viewer(request)
            if who is None:
                yield _OVER
                return
            feed.take()
            try:
                sight = await board.see(view_for(who))
            except Rejected:  # it is not there any more
                yield _OVER
                return
            news = {name: html for name, html in sight.parts.items() if shown.get(name) != html}
            shown = sight.parts
            yield b"data: %b\n\n" % orjson.dumps({"at": stamp(sight.at), "parts": news})
            await rest(hub, sight.pause_s)
            if not board.is_behind(sight):
                await hear(hub, feed, _BEAT_S)
    finally:
        feed.close()

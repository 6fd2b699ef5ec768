"""`GET /v1/changes`: what commits touch, as server-sent events, from a revision on, without holes."""

from collections.abc import AsyncIterator
from typing import Annotated, Final

import orjson
from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hub.api import openapi_parts
from hub.api.models.fleet import FeedChange
from hub.api.openapi_parts import EVENTS
from hub.api.parameters import Revision
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, authorize, caller, grants, hub_of
from hub.api.routing import new_router, refuses
from hub.api.streams import count_stream, counted, hear
from hub.domain.access import Noun, Verb
from hub.services.context.hub import Hub
from hub.services.questions import jobs, overview, watch
from hub.services.questions.watch import FeedPage
from shared.errors import Rejected
from shared.reject_codes import RejectCode

router = new_router("fleet")
PAGE: Final = 200
PIECE: Final = 16 << 10
# Between two looks at whether the credential still holds; also keeps proxies from hanging up.
BEAT_S: Final = 5.0
_PEOPLE: Final = frozenset({ADMINISTRATOR, VIEWER})
_NEEDS: Final = (Verb.GET, Noun.JOBS)


@router.get(
    "/v1/changes",
    response_class=StreamingResponse,
    responses=openapi_parts.events(FeedChange, "Changes, as they are committed."),
)
@allow(ADMINISTRATOR, VIEWER)
@grants(*_NEEDS)
@refuses(RejectCode.EXPIRED, RejectCode.TOO_MANY_STREAMS)
async def follow_changes(request: Request, asked: Annotated[Revision, Query()]) -> Response:
    """Events `{"revision", "kind", "keys", "at"}` after `revision` (by default: from now on).

    410 Expired if that revision is no longer kept: list again, then follow from the newest.

    A user who sees part of the fleet gets the changes of visible workloads, objects, works and bindings,
    while they exist.
    """
    hub, who = hub_of(request), caller(request)
    revision = asked.revision
    if revision is None:
        revision = await hub.read(jobs.revision)
    await hub.read(
        overview.changes_since, revision, PAGE
    )  # 410 while the status can still be sent
    streams = count_stream(request, who)
    return StreamingResponse(
        counted(streams, who.id, _events(request, hub, revision)),
        media_type=EVENTS,
        headers={"Cache-Control": "no-store"},
    )


async def _events(request: Request, hub: Hub, revision: int) -> AsyncIterator[bytes]:
    news = hub.subscribe(keyed=False)
    try:
        yield b": following\n\n"
        while not hub.closing.is_set():
            # Within what may be seen now: roles may have changed since the last page, of which no name here
            # keeps hold while its text waits to be taken.
            now = hub_of(request)
            revision, text, more = _sent(await now.read(watch.changes, revision, PAGE))
            for start in range(0, len(text), PIECE):  # who does not take it has little in hand
                yield text[start : start + PIECE]
            if not more and not await hear(hub, news, BEAT_S):
                yield b": beat\n\n"
            await authorize(request, _PEOPLE, _NEEDS)
    except Rejected:
        return  # the credential has ended, or the follower has fallen behind what is kept
    finally:
        news.close()


def _sent(page: FeedPage) -> tuple[int, bytes, bool]:
    """A page as it is sent: up to which revision, its text, and whether there is more.

    Nothing else of it is kept: as many as there are streams may wait to be taken.
    """
    text = b"".join(
        b"id: %d\ndata: %b\n\n" % (change["revision"], orjson.dumps(change))
        for change in page.changes
    )
    return page.revision, text, page.more

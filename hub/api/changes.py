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
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, authorize, caller, hub_of
from hub.api.routing import new_router, refuses
from hub.api.streams import count_stream, counted, hear
from hub.services.context.hub import Hub
from hub.services.questions import jobs, overview
from shared.errors import Rejected
from shared.reject_codes import RejectCode

router = new_router("fleet")
PAGE: Final = 200
# Between two looks at whether the credential still holds; also keeps proxies from hanging up.
BEAT_S: Final = 5.0
_PEOPLE: Final = frozenset({ADMINISTRATOR, VIEWER})


@router.get(
    "/v1/changes",
    response_class=StreamingResponse,
    responses=openapi_parts.events(FeedChange, "Changes, as they are committed."),
)
@allow(ADMINISTRATOR, VIEWER)
@refuses(RejectCode.EXPIRED, RejectCode.TOO_MANY_STREAMS)
async def follow_changes(request: Request, asked: Annotated[Revision, Query()]) -> Response:
    """Events `{"revision", "kind", "keys", "at"}` after `revision` (by default: from now on).

    410 Expired if that revision is no longer kept: list again, then follow from the newest.
    """
    hub = hub_of(request)
    revision = asked.revision
    if revision is None:
        revision = await hub.read(jobs.revision)
    await hub.read(overview.changes_since, revision, PAGE)  # 410 while it can still be said
    who = caller(request).id
    streams = count_stream(request, who, hub.settings.api.streams_per_principal)
    return StreamingResponse(
        counted(streams, who, _events(request, hub, revision)),
        media_type=EVENTS,
        headers={"Cache-Control": "no-store"},
    )


async def _events(request: Request, hub: Hub, revision: int) -> AsyncIterator[bytes]:
    news = hub.subscribe()
    try:
        yield b": following\n\n"
        while not hub.closing.is_set():
            page, more = await hub.read(overview.changes_since, revision, PAGE)
            for change in page:
                revision = change["revision"]
                yield b"id: %d\ndata: %b\n\n" % (revision, orjson.dumps(change))
            if not more and not await hear(hub, news, BEAT_S):
                yield b": beat\n\n"
            await authorize(request, _PEOPLE)
    except Rejected:
        return  # the credential has ended, or the follower has fallen behind what is kept
    finally:
        news.close()

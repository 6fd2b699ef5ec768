"""Where agents come for what people ask of their members, and bring it: `/agent/v1/streams`.

A question hangs while nothing is asked. A part of an answer hangs while its reader takes nothing, and is not
taken in the end; one whose reader has gone is refused, and the agent stops reading.
"""

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from hub.api import openapi_parts
from hub.api.logs import open_streams_of
from hub.api.openapi_parts import JSON, ref
from hub.api.policy import AGENT, allow, caller
from hub.api.reply import JsonResponse
from hub.api.routing import new_router, refuses
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.streams_v1 import (
    MOST_PART_BYTES,
    STREAMS_PATH,
    StreamPart,
    StreamRequests,
    StreamTaken,
)

router: APIRouter = new_router("agents")
# Of a body: JSON may write one byte as six, and says whose each line is.
MOST_BODY_BYTES = 16 * MOST_PART_BYTES


@router.get(STREAMS_PATH, response_model=StreamRequests)
@allow(AGENT)
@refuses(RejectCode.REVOKED, RejectCode.CLIENT_CERTIFICATE_REQUIRED)
async def next_stream(request: Request) -> Response:
    """What is asked of this agent's cluster next: one question, or none after a while."""

    async def is_there() -> bool:
        return not await request.is_disconnected()

    found = await open_streams_of(request).next_for(caller(request).cluster, is_there)
    told = StreamRequests(requests=[] if found is None else [found])
    return JsonResponse(told.model_dump())


@router.post(
    STREAMS_PATH + "/{stream}",
    response_model=StreamTaken,
    openapi_extra=openapi_parts.body({JSON: ref(StreamPart)}, {"seq": 1}),
)
@allow(AGENT)
@refuses(
    RejectCode.REVOKED,
    RejectCode.CLIENT_CERTIFICATE_REQUIRED,
    RejectCode.NOT_FOUND,
    RejectCode.INVALID_JSON,
)
async def put_stream_part(request: Request, stream: str) -> Response:
    """One part of an answer. 404 where nobody waits for it any more."""
    found = open_streams_of(request).find(caller(request).cluster, stream)
    if found is None:
        raise Rejected(RejectCode.NOT_FOUND, "nobody waits for this any more")
    body = await request.body()
    if len(body) > MOST_BODY_BYTES:
        text = f"a part is of {MOST_BODY_BYTES} bytes at most"
        raise Rejected(RejectCode.BODY_TOO_LARGE, text)
    try:
        part = StreamPart.model_validate_json(body)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False)[0]
        if first["type"] == "json_invalid":
            raise Rejected(RejectCode.INVALID_JSON, first["msg"]) from fault
        place = ".".join(str(each) for each in first["loc"])
        raise Rejected(RejectCode.INVALID_MESSAGE, first["msg"], place) from fault
    taken = await found.put(part, len(body))
    return JsonResponse(StreamTaken(seq=taken).model_dump())

"""Long polls of agents for users' requests to their members, and uploads of the answers: `/agent/v1/streams`.

An agent says which questions it answers; no other is handed to it.

A poll hangs while there is no question. A part of an answer hangs while its reader takes nothing, and is not
taken in the end; one whose reader has gone is refused, and the agent stops reading.
"""

from typing import TypeVar

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from hub.api import openapi_parts
from hub.api.asking import open_streams_of
from hub.api.openapi_parts import JSON, ref
from hub.api.policy import AGENT, allow, caller, hub_of
from hub.api.reply import JsonResponse
from hub.api.routing import new_router, refuses
from hub.services.live import last_lines
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.streams_v1 import (
    ANSWERS_HEADER,
    FAILED_PATH,
    MOST_PART_BYTES,
    OF_PODS,
    STREAMS_PATH,
    FailedPods,
    FailedPodsKept,
    StreamPart,
    StreamRequests,
    StreamTaken,
)

router: APIRouter = new_router("agents")
M = TypeVar("M", StreamPart, FailedPods)
_LONGEST_HEADER = 256
# Of a body: JSON may write one byte as six, and says whose each line is.
MOST_BODY_BYTES = 16 * MOST_PART_BYTES


@router.get(STREAMS_PATH, response_model=StreamRequests)
@allow(AGENT)
@refuses(RejectCode.REVOKED, RejectCode.CLIENT_CERTIFICATE_REQUIRED)
async def next_stream(request: Request) -> Response:
    """The next request for this agent's cluster, or none after a timeout."""

    async def is_there() -> bool:
        return not await request.is_disconnected()

    told = request.headers.get(ANSWERS_HEADER, "")[:_LONGEST_HEADER]
    answers = OF_PODS.union(each.strip() for each in told.split(","))
    streams, cluster = open_streams_of(request), caller(request).cluster
    found = await streams.next_for(cluster, is_there, answers=answers)
    wanted = StreamRequests(requests=[] if found is None else [found])
    return JsonResponse(wanted.model_dump())


@router.post(
    FAILED_PATH,
    response_model=FailedPodsKept,
    openapi_extra=openapi_parts.body({JSON: ref(FailedPods)}, {"items": []}),
)
@allow(AGENT)
@refuses(
    RejectCode.REVOKED,
    RejectCode.CLIENT_CERTIFICATE_REQUIRED,
    RejectCode.INVALID_JSON,
    RejectCode.TOO_MANY_REQUESTS,
)
async def keep_failed_pods(request: Request) -> Response:
    """Store failed pods of this agent's cluster as events of their jobs."""
    hub, cluster = hub_of(request), caller(request).cluster
    told = _read(FailedPods, await request.body())
    if not open_streams_of(request).may_tell(cluster):
        text = f"{cluster} reports failed pods more often than once a second"
        raise Rejected(RejectCode.TOO_MANY_REQUESTS, text)
    kept = await hub.write(last_lines.keep_told, cluster, told.items)
    return JsonResponse(FailedPodsKept(kept=kept).model_dump())


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
    """One part of an answer. 404 if the reader has gone."""
    found = open_streams_of(request).find(caller(request).cluster, stream)
    if found is None:
        raise Rejected(RejectCode.NOT_FOUND, "no reader waits for this any more")
    body = await request.body()
    part = _read(StreamPart, body)
    taken = await found.put(part, len(body))
    return JsonResponse(StreamTaken(seq=taken).model_dump())


def _read(kind: type[M], body: bytes) -> M:
    """A message of an agent's. Raises Rejected."""
    if len(body) > MOST_BODY_BYTES:
        text = f"a part is of {MOST_BODY_BYTES} bytes at most"
        raise Rejected(RejectCode.BODY_TOO_LARGE, text)
    try:
        return kind.model_validate_json(body)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False)[0]
        if first["type"] == "json_invalid":
            raise Rejected(RejectCode.INVALID_JSON, first["msg"]) from fault
        place = ".".join(str(each) for each in first["loc"])
        raise Rejected(RejectCode.INVALID_MESSAGE, first["msg"], place) from fault

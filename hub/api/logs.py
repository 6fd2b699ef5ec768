"""`/v1/jobs/{uid}/logs` and `/pods`: read live from the member, through its agent.

The agent polls for questions (`hub.api.agent_streams`); the hub stores only the parts in flight between
the two connections (`hub.services.live`).
"""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Final

import orjson
from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from hub.api import openapi_parts
from hub.api.asking import ENDED, LOOK_S, OF_AGENTS, first_part, open_streams_of
from hub.api.limits import spend
from hub.api.measures import LOG_LINES, LOG_STREAMS, LOG_STREAMS_ENDED
from hub.api.models.pods import JobPods, LogRecord
from hub.api.openapi_parts import EVENTS, NDJSON
from hub.api.parameters import LogFilters
from hub.api.policy import (
    ADMINISTRATOR,
    VIEWER,
    allow,
    authorize,
    caller,
    from_page,
    grants,
    hub_of,
    scope_of,
)
from hub.api.reply import JsonResponse
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.context.hub import Hub
from hub.services.live import places, shown
from hub.services.live.open_streams import OpenStreams
from hub.services.live.places import PodsPlace
from hub.services.live.shown import Hiding
from hub.services.live.stream import Stream
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.streams_v1 import StreamPart, StreamRequest

router = new_router("jobs")
BEAT_S: Final = 5.0  # keeps proxies from hanging up
CHECK_S: Final = 4.0  # between two looks at the credential and at what it may see
_PEOPLE: Final = frozenset({ADMINISTRATOR, VIEWER})
_NEEDS: Final = (Verb.GET, Noun.JOBS)
_AT_ONCE: Final = 8 << 10  # characters of lines that are looked through in the event loop
_GONE: Final = "ReaderGone"
_REFUSED: Final = (
    RejectCode.NOT_FOUND,
    RejectCode.JOB_WAITS,
    RejectCode.PODS_REMOVED,
    RejectCode.CLUSTER_SILENT,
    RejectCode.AGENT_NOT_LISTENING,
    RejectCode.MEMBER_NOT_ANSWERING,
    RejectCode.REFUSED_BY_MEMBER,
    RejectCode.NO_PODS_YET,
    RejectCode.TOO_MANY_STREAMS,
)
Encode = Callable[[Json], bytes]


@router.get(
    "/v1/jobs/{uid}/logs",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Lines as they arrive, one record each; the last one says why the log ends.",
            "content": {
                NDJSON: {"schema": openapi_parts.ref(LogRecord)},
                EVENTS: {"schema": {"type": "string"}},
            },
        }
    },
)
@from_page
@allow(ADMINISTRATOR, VIEWER)
@grants(*_NEEDS)
@refuses(
    *_REFUSED,
    RejectCode.LOGS_OFF,
    RejectCode.NOT_BEGUN,
    RejectCode.POD_NOT_FOUND,
    RejectCode.CONTAINER_NOT_FOUND,
)
async def follow_job_logs(
    request: Request, uid: str, asked: Annotated[LogFilters, Query()]
) -> Response:
    """Logs of all pods of a job, in order for each container, as JSON lines or server-sent events.

    Values of environment variables of its manifest are shown only to users who may change the job.
    """
    hub, who = hub_of(request), caller(request)
    spend(hub, who, "streams")
    place = await _place(request, uid)
    wanted = StreamRequest(
        id="",
        what="logs",
        uid=place.uid,
        namespace=place.namespace,
        name=place.name,
        **asked.model_dump(exclude={"timestamps", "since", "after"}),
        since_s=asked.since,
        after=asked.places(),
    )
    streams = open_streams_of(request)
    stream = streams.ask(who.id, place.cluster, wanted)
    try:
        first = await first_part(request, streams, stream)
    except BaseException:
        streams.leave(stream, _GONE)
        raise
    events = "text/event-stream" in request.headers.get("accept", "")
    told = _Told(request, hub, streams, stream, place, timestamps=asked.timestamps)
    return _LogResponse(
        streams,
        stream,
        told.records(first, _event if events else _json_line),
        media_type=EVENTS if events else NDJSON,
        headers={"Cache-Control": "no-store"},
    )


@router.get("/v1/jobs/{uid}/pods", response_model=JobPods)
@from_page
@allow(ADMINISTRATOR, VIEWER)
@grants(*_NEEDS)
@refuses(*_REFUSED)
async def list_job_pods(request: Request, uid: str) -> Response:
    """Pods of a job as its member has them now: phase, node, containers, exit codes, waiting reasons.

    With the member's events about them. Asked of the member each time; nothing of it is kept.
    """
    hub, who = hub_of(request), caller(request)
    place = await _place(request, uid)
    wanted = StreamRequest(
        id="", what="pods", uid=place.uid, namespace=place.namespace, name=place.name
    )
    streams = open_streams_of(request)
    stream = streams.ask(who.id, place.cluster, wanted)
    try:
        part = await first_part(request, streams, stream)
    finally:
        streams.leave(stream, ENDED)
    return JsonResponse(await hub.beside(_pods, place, part))


def _pods(place: PodsPlace, part: StreamPart) -> Json:
    hiding = Hiding(place.hidden)
    return {
        "cluster": place.cluster,
        "items": [shown.pod(each, hiding) for each in part.pods],
        "leftOut": part.left_out,
        "events": [shown.event(each, hiding) for each in part.events],
        "eventsUnread": part.unread,
    }


async def _place(request: Request, uid: str) -> PodsPlace:
    hub = hub_of(request)
    suspect_s = hub.settings.scheduling.suspect_after_s
    return await hub.read(places.find, uid, caller(request).rights.values, suspect_s)


class _LogResponse(StreamingResponse):
    """A stream that lets its agent go when its reader goes, however that is."""

    def __init__(
        self,
        streams: OpenStreams,
        stream: Stream,
        content: AsyncIterator[bytes],
        media_type: str,
        headers: dict[str, str],
    ) -> None:
        super().__init__(content, media_type=media_type, headers=headers)
        self._streams, self._stream = streams, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        LOG_STREAMS.inc()
        try:
            await super().__call__(scope, receive, send)
        finally:
            LOG_STREAMS.dec()
            self._streams.leave(self._stream, _GONE)
            end = self._stream.end
            LOG_STREAMS_ENDED.labels(_reason(end.code if end is not None else _GONE)).inc()


class _Told:
    """The records of one stream."""

    def __init__(
        self,
        request: Request,
        hub: Hub,
        streams: OpenStreams,
        stream: Stream,
        place: PodsPlace,
        *,
        timestamps: bool,
    ) -> None:
        self._request, self._hub, self._streams, self._stream = request, hub, streams, stream
        self._hiding, self._timestamps = Hiding(place.hidden), timestamps
        self._place, self._reads_values = place, place.is_within(caller(request).rights.values)

    async def records(self, first: StreamPart, encode: Encode) -> AsyncIterator[bytes]:
        """Records of all parts, and the reason for the end."""
        clock, stream = self._hub.clock, self._stream
        part: StreamPart | None = first
        looked = sent = clock.monotonic()
        while True:
            if part is not None and part.lines:
                LOG_LINES.inc(len(part.lines))
                yield await self._encoded(part, encode)
                sent = clock.monotonic()
            if clock.monotonic() - looked >= CHECK_S:
                looked = clock.monotonic()
                try:
                    await self._check()
                except Rejected as refusal:
                    stream.finish(refusal.code, "the credential is no longer valid")
                    break
            if clock.monotonic() - sent >= BEAT_S:
                sent = clock.monotonic()
                yield b": beat\n\n" if encode is _event else b"\n"
            part = await stream.get(LOOK_S)
            self._streams.why_ended(stream)
            if part is None and stream.end is not None and not stream.waiting_bytes:
                break
        if stream.end is not None:
            yield encode(shown.ended(stream.end))

    async def _check(self) -> None:
        """True if the reader still has the rights of the beginning. Raises Rejected."""
        who = await authorize(self._request, _PEOPLE, _NEEDS)
        place = self._place
        seen = scope_of(self._request).shows(place.namespace, place.queue, place.owner)
        if not seen or place.is_within(who.rights.values) != self._reads_values:
            raise Rejected(RejectCode.FORBIDDEN, "")  # other things are to be hidden

    async def _encoded(self, part: StreamPart, encode: Encode) -> bytes:
        """Its lines; long ones are redacted off the event loop."""

        def encoded() -> bytes:
            return b"".join(map(encode, self._lines(part)))

        long = sum(len(each.line) for each in part.lines) > _AT_ONCE
        return await self._hub.beside(encoded) if long else encoded()

    def _lines(self, part: StreamPart) -> list[Json]:
        return [
            shown.record(each, self._hiding, timestamps=self._timestamps) for each in part.lines
        ]


def _reason(code: str) -> str:
    """A label of few values, whatever an agent says."""
    known = {ENDED, _GONE, "AgentSilent", "HubStopped", "LongestReached", "OutOfOrder"}
    return code if code in known | OF_AGENTS else "other"


def _json_line(told: Json) -> bytes:
    return orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)


def _event(told: Json) -> bytes:
    return b"data: %b\n\n" % orjson.dumps(told)

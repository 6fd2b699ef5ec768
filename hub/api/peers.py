"""Forwards requests to the hub process of the same store at which the agent polls.

`POST /hub/v1/streams` is for hub processes alone. A question is taken there only while the agent listens, and
is answered by parts as the agent brings them, a sealed line each; empty lines keep the answer open. The
process that received the user's request has decided the question, its user and its job.
"""

import secrets
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Final

import httpx
import structlog
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from hub.api.limits import check_failures, note_failure
from hub.api.openapi_parts import NDJSON
from hub.api.policy import PEER, allow, hub_of
from hub.api.routing import new_router
from hub.services.access.peer_seal import AnswerSeal, PeerSeal
from hub.services.context.hub import Hub
from hub.services.live import peers
from hub.services.live.open_streams import CLOSING, OpenStreams
from hub.services.live.stream import Stream
from hub.store.errors import StoreError
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import Message
from shared.wire.streams_v1 import StreamPart, StreamRequest

router = new_router("hub")
PATH: Final = "/hub/v1/streams"
_LOOK_S: Final = 1.0
_AGAIN_S: Final = 0.3  # an agent that polls again is nowhere for a moment
_CONNECT_S: Final = 2.0
_QUIET_S: Final = 10.0
_MOST_LINE: Final = 4 << 20
_AUDIENCE: Final = "peer"
Trust = tuple[ssl.SSLContext, str]
log = structlog.get_logger(__name__)


class PeerQuestion(Message):
    """The question of one hub process to another: a question of `who` for the agent of `cluster`."""

    who: str
    cluster: str
    request: StreamRequest


class Peers:
    """The other hub processes: this one asks them, and they ask it.

    `trust`: what their certificates are believed by, and the name that those are made out to.
    """

    def __init__(self, hub: Hub, streams: OpenStreams) -> None:
        self.name = secrets.token_hex(8)
        self.seal = PeerSeal(hub.page_key)
        self.trust: Callable[[], Trust] = _plain
        self.transport: httpx.AsyncBaseTransport | None = None  # None: over the network
        self._hub, self._streams = hub, streams

    async def relay(self, stream: Stream) -> None:
        """Have a question answered by way of another process, unless the agent comes for it here first."""
        if self._streams.is_listening(stream.cluster):
            await self._hub.clock.sleep(_AGAIN_S)
        while self._streams.is_open_here(stream):
            try:
                others = await self._hub.read(peers.others, self.name)
            except StoreError:
                others = []
            for name, url in others:
                if await self._ask(name, url, stream):
                    return
            await self._hub.clock.sleep(_AGAIN_S)

    async def _ask(self, name: str, url: str, stream: Stream) -> bool:
        """True if the process `name` at `url` has answered, or need not any more."""
        question = PeerQuestion(who=stream.who, cluster=stream.cluster, request=stream.request)
        body = question.model_dump_json().encode()
        now = self._hub.clock.now().timestamp()
        header, seal = self.seal.authorization(name, body, now)
        verify, host = self.trust()
        extensions = {"sni_hostname": host} if host else {}
        timeout = httpx.Timeout(_QUIET_S, connect=_CONNECT_S)
        try:
            async with (
                httpx.AsyncClient(
                    verify=verify, trust_env=False, timeout=timeout, transport=self.transport
                ) as http,
                http.stream(
                    "POST",
                    url + PATH,
                    content=body,
                    headers={"Authorization": header},
                    extensions=extensions,
                ) as answer,
            ):
                if answer.status_code != httpx.codes.OK:
                    return not self._streams.is_open_here(stream)
                if not self._streams.withdraw(stream):
                    return True  # the agent has come here meanwhile
                stream.is_relayed = True
                await _pass_on(answer, seal, stream)
        except (httpx.HTTPError, ValidationError, Rejected) as fault:
            log.warning("peer.failed", peer=url, error=str(fault)[:200])
        if stream.is_relayed:
            text = "the hub process that its agent speaks to does not answer any more; ask again"
            stream.finish(CLOSING, text)
        return stream.is_relayed


async def _pass_on(answer: httpx.Response, seal: AnswerSeal, stream: Stream) -> None:
    """Put parts as they come, as fast as the reader takes them. Raises Rejected: Unauthenticated."""
    rest = b""
    async for piece in answer.aiter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        for line in filter(None, lines):
            part = StreamPart.model_validate_json(seal.open(line))
            while stream.end is None and await stream.put(part, len(line)) < part.seq:
                pass  # its reader is slow: the other process waits, and so does the agent
        if stream.end is not None or len(rest) > _MOST_LINE:
            return


@router.post(PATH, include_in_schema=False)
@allow(PEER)
async def answer_peer(request: Request) -> Response:
    """Forward another hub's request to the agent that polls here. 503 if none does."""
    hub, mine = hub_of(request), peers_of(request)
    streams: OpenStreams = request.app.state.open_streams
    check_failures(request, hub, _AUDIENCE)
    body = await request.body()
    try:
        now = hub.clock.now().timestamp()
        seal = mine.seal.check(request.headers.get("authorization", ""), mine.name, body, now)
    except Rejected:
        note_failure(request, hub, _AUDIENCE)
        raise
    try:
        asked = PeerQuestion.model_validate_json(body)
    except ValidationError as fault:
        raise Rejected(RejectCode.INVALID_MESSAGE, str(fault)[:500]) from fault
    if not streams.is_listening(asked.cluster):
        text = f"no agent of {asked.cluster} asks here"
        raise Rejected(RejectCode.AGENT_NOT_LISTENING, text)
    return _PeerResponse(streams, streams.ask(asked.who, asked.cluster, asked.request), seal)


class _PeerResponse(StreamingResponse):
    """Parts from the agent; released when the other process goes."""

    def __init__(self, streams: OpenStreams, stream: Stream, seal: AnswerSeal) -> None:
        super().__init__(self._parts(), media_type=NDJSON)
        self._streams, self._stream, self._seal = streams, stream, seal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.leave(self._stream, "ReaderGone")

    async def _parts(self) -> AsyncIterator[bytes]:
        stream, last = self._stream, StreamPart(seq=1)
        told = 0
        while True:
            part = await stream.get(_LOOK_S)
            if part is not None:
                last, told = part, part.seq
                yield self._sealed(part)
                continue
            self._streams.why_ended(stream)
            if stream.end is not None and not stream.waiting_bytes:
                break
            yield b"\n"
        if last.end is None:
            yield self._sealed(StreamPart(seq=told + 1, end=stream.end))

    def _sealed(self, part: StreamPart) -> bytes:
        return self._seal.seal(part.model_dump_json().encode()) + b"\n"


def _plain() -> Trust:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ""  # never used


def peers_of(request: Request) -> Peers:
    """The other hub processes."""
    found = request.app.state.peers
    assert isinstance(found, Peers)
    return found

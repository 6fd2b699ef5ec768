"""Connections of HTTP: how much a request may say before anyone looks at it, and how long it may take.

The server's own protocol bounds neither: a header could grow without limit, a body arrive byte by byte,
and an idle client stay connected. Refusals here are answered as everywhere, by problem+json.
"""

import asyncio
import enum
import socket
from collections import Counter
from typing import Any, ClassVar, Final, cast

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from hub.api.errors import problem
from hub.api.handshakes import ClientCertificate, Handshake, Trust, read_client
from hub.services.access.budgets import network_of
from hub.services.access.turns import Presence
from hub.services.context.ids import request_id as new_request_id
from hub.services.context.settings import Api
from shared.clock import Clock
from shared.reject_codes import RejectCode

_LINGERS_S: Final = 1.0  # how long a refused body may still be sent
_LOOK_S: Final = 1.0  # between two looks for who is late
_FEW: Final = 10  # connections of one network
_FOR_ALL: Final = 0.9  # of the connections; the rest is for networks that have few
_UNREAD_BYTES: Final = 16 << 10  # of an answer that may wait here before its maker has to
# Streams send little at a time: the kernel does not buffer megabytes that the client does not read.
_STREAMS: Final = frozenset({b"/v1/changes", b"/v1/workloads:watch", b"/live", b"/hub/v1/streams"})
_LOGS: Final = b"/logs"
_STREAM_BYTES: Final = 64 << 10
_LEAST_RATE: Final = 1 << 16  # bytes a second that a body must come at, on the average
# The rest of a body is read after an early answer, so that the client gets to read that answer: an announced
# body up to _REST_BYTES keeps its connection; of any other at most _DRAINED_BYTES, for _LINGERS_S.
_REST_BYTES: Final = 64 << 10
_DRAINED_BYTES: Final = 1 << 20
_logger = structlog.get_logger(__name__)


class _Phase(enum.Enum):
    NEW = enum.auto()  # connected, and nothing said yet
    HEAD = enum.auto()
    BODY = enum.auto()
    SERVED = enum.auto()  # the request is here; what comes next is the answer


class Door:
    """The bounds of one server's connections, and who is connected. `trust`: by TLS alone."""

    def __init__(
        self, limits: Api, clock: Clock, most: int | None = None, trust: Trust | None = None
    ) -> None:
        self.limits = limits
        self.clock = clock
        self.most = min(limits.connections, most or limits.connections)
        self.trust = trust
        self.connections: set[BoundedProtocol] = set()
        self._by_network: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()  # since the last look, by code
        self.handshakes: set[Handshake] = set()
        self._protocol = type("BoundedProtocolOfDoor", (BoundedProtocol,), {"door": self})

    def protocol(self) -> type["BoundedProtocol"]:
        """The protocol class to serve with."""
        return self._protocol

    def is_full(self, network: str) -> bool:
        """True if the maximum of connections is reached, in all or of this network.

        The last tenth is for addresses with few connections: a client that fills the rest keeps no agent
        and no probe out.
        """
        there, mine = len(self.connections) + len(self.handshakes), self._by_network[network]
        if there >= self.most or (mine >= _FEW and there >= self.most * _FOR_ALL):
            return True
        return 0 < self.limits.connections_per_address <= mine

    def enter(self, network: str) -> None:
        """Count one more connection of a network."""
        self._by_network[network] += 1

    def leave(self, network: str) -> None:
        """One of them has gone."""
        self._by_network[network] -= 1
        if self._by_network[network] <= 0:
            del self._by_network[network]

    def look(self) -> None:
        """End the connections whose handshake, header or body is late."""
        now = self.clock.monotonic()
        for connection in list(self.connections):
            connection.end_if_late(now)
        for handshake in list(self.handshakes):
            handshake.end_if_late(now)
        for code, times in self.refused.items():  # a line a second each, however many there are
            _logger.info("connections ended", code=code, times=times)
        self.refused.clear()

    async def run(self) -> None:
        """Look again and again."""
        while True:
            await self.clock.sleep(_LOOK_S)
            self.look()


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 with bounds on connections, headers and time, both ways."""

    door: ClassVar[Door]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._phase = _Phase.NEW
        self._since = 0.0  # of the phase; monotonic
        self._head_bytes = 0
        self._body_bytes = 0
        self._refusal: tuple[RejectCode, str] | None = None
        self._ended = False
        self._network: str | None = None  # that it is counted for
        self._unread_since: float | None = None  # nothing of the answer is taken any more
        self._said_at: float | None = None  # that it is refused; what still comes is thrown away
        self._drained = 0  # bytes that were thrown away
        self._kept_alive = True  # after this request, if its body comes in full
        self._client: ClientCertificate | None = None
        self._presence = Presence()
        self.generation = 0  # of the certificates that it was agreed with

    def connection_made(self, transport: Any) -> None:
        """Take the connection, or say that there are too many."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_UNREAD_BYTES)
        self._since = self.door.clock.monotonic()
        self._client = read_client(transport)
        network = network_of(str((transport.get_extra_info("peername") or ("",))[0]))
        if self.door.trust is None and self.door.is_full(network):  # by TLS it was counted before
            self._end(
                RejectCode.TOO_MANY_CONNECTIONS,
                f"{len(self.door.connections)} connections are open; try again",
            )
            return
        self.door.connections.add(self)
        self.door.enter(network)
        self._network = network

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has gone."""
        self.door.connections.discard(self)
        if self._network is not None:
            self.door.leave(self._network)
            self._network = None
        self._presence.leave()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The other side takes nothing for now."""
        super().pause_writing()
        self._unread_since = self.door.clock.monotonic()

    def resume_writing(self) -> None:
        """It has taken what there was."""
        super().resume_writing()
        self._unread_since = None

    def data_received(self, data: bytes) -> None:
        """Read on, within the bounds of a header."""
        if self._ended:
            self._drained += len(data)
            if self._drained > _DRAINED_BYTES:
                self.flow.pause_reading()  # until the connection closes
            return
        if self._phase is not _Phase.BODY:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._refusal is None and self._phase is _Phase.HEAD:
            self._check_head(self._head_bytes)
        if self._refusal is not None:
            self._end(*self._refusal)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self.scope["state"]["client"] = self._presence
        if self._client is not None:
            self.scope["state"]["client_certificate"] = self._client
        self._enter(_Phase.HEAD)

    def on_headers_complete(self) -> None:
        """The header is complete: it is checked before any handler runs."""
        if self._ended or self._refusal is not None:
            return
        self._check_head(sum(len(name) + len(value) + 4 for name, value in self.headers))
        if self._refusal is not None:
            return
        self._head_bytes = self._body_bytes = 0
        path = self.url.partition(b"?")[0]
        if path in _STREAMS or path.endswith(_LOGS):
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_SNDBUF, _STREAM_BYTES
            )
        self._enter(_Phase.BODY)
        super().on_headers_complete()
        trust = self.door.trust
        if self.cycle is None:
            return
        if trust is not None and self.generation != trust.generation:
            self.cycle.keep_alive = (
                False  # the next request comes by the certificates now in force
            )
        self._kept_alive = self.cycle.keep_alive
        if self._may_be_endless():
            self.cycle.keep_alive = False
            self.cycle.transport = cast("asyncio.Transport", _OfRequest(self))

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if self._ended or self._refusal is not None:
            return
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is here."""
        if self._ended or self._refusal is not None:
            return
        self._enter(_Phase.SERVED)
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = self._kept_alive
        super().on_message_complete()

    def shutdown(self) -> None:
        """The server stops: no further request on this connection."""
        self._kept_alive = False
        super().shutdown()

    def hang_up(self) -> None:
        """Close after an answer; while the body still arrives, give the client time to read it first."""
        if self._phase is not _Phase.BODY or self.transport.is_closing():
            self.transport.close()
            return
        self._ended = True
        self.door.refused["BodyNotRead"] += 1
        self._linger()

    def send_400_response(self, msg: str) -> None:
        """Requests that the parser can not read, such as those with conflicting lengths."""
        self._end(
            RejectCode.BAD_REQUEST,
            "this is no unambiguous HTTP/1.1 request",
        )

    def end_if_late(self, now: float) -> None:
        """Answer 408 where a header or body did not come in time; hang up on who does not read."""
        since = self._unread_since
        if since is not None and now - since >= self.door.limits.send_s:
            self._ended = True
            self.door.refused["Unread"] += 1
            self.transport.abort()
            return
        if self._said_at is not None and now - self._said_at >= _LINGERS_S:
            self.transport.close()
        if self._ended or self._phase is _Phase.SERVED:
            return
        if self._phase is _Phase.BODY and self.flow.read_paused:
            self._since = now  # it is we who do not read
            return
        allowed_s = self.door.limits.receive_s + self._body_bytes / _LEAST_RATE
        if now - self._since < allowed_s:
            return
        if self._phase is _Phase.NEW:
            self._ended = True
            self.transport.close()
            return
        what = "header" if self._phase is _Phase.HEAD else "body"
        self._end(RejectCode.REQUEST_TIMEOUT, f"the request's {what} did not come in time")

    def _enter(self, phase: _Phase) -> None:
        self._phase = phase
        self._since = self.door.clock.monotonic()

    def _check_head(self, size: int) -> None:
        limits = self.door.limits
        if len(self.url) > limits.url_bytes:
            rule = f"path and query are longer than {limits.url_bytes} bytes"
            self._refusal = (RejectCode.URL_TOO_LONG, rule)
        elif size > limits.header_bytes + len(self.url):
            rule = f"the header is larger than {limits.header_bytes} bytes"
            self._refusal = (RejectCode.HEADER_TOO_LARGE, rule)

    def _end(self, code: RejectCode, detail: str) -> None:
        """Refuse and hang up; where an answer is under way already, only hang up."""
        self._ended = True
        is_answered = self._phase in (_Phase.BODY, _Phase.SERVED) and self._answer_began()
        if not is_answered and not self.transport.is_closing():
            self.transport.write(_raw(code, detail))
            self.door.refused[code] += 1
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if is_answered or self not in self.door.connections or not self.transport.can_write_eof():
            self.transport.close()
        elif not self.transport.is_closing():
            self._linger()

    def _linger(self) -> None:
        """Drain for a moment before closing: closed now, a reset would destroy the answer on its way."""
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self._said_at = self.door.clock.monotonic()

    def _may_be_endless(self) -> bool:
        """The body may be longer than is worth reading to keep the connection."""
        if self.expect_100_continue:
            return True  # a client that is answered at once does not send its body at all
        for name, value in self.headers:
            if name == b"transfer-encoding":
                return True
            if name == b"content-length":
                return int(value) > _REST_BYTES
        return False

    def _answer_began(self) -> bool:
        return self.cycle is not None and self.cycle.response_started


class _OfRequest:
    """The transport as one request's answer uses it: closing goes through the protocol."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing
        self.close = protocol.hang_up


def _raw(code: RejectCode, detail: str) -> bytes:
    """A refusal as bytes, for a request that has no scope yet."""
    request_id = new_request_id()
    reply = problem(code, detail, request_id)
    reply.headers["connection"] = "close"
    reply.headers["x-request-id"] = request_id
    lines = b"".join(b"%b: %b\r\n" % pair for pair in reply.raw_headers)
    return STATUS_LINE[reply.status_code] + lines + b"\r\n" + bytes(reply.body)

"""The outermost layer: what holds for every request, before any route is looked for.

Gives each request an id; refuses bodies that are too large (by their announced length before
reading, else when the limit is passed), more of them at once than there is memory for, writes that
the store could not take soon, encodings, and Accept headers it can not serve; turns what escapes from
below into a problem, without a traceback on the wire.
"""

from collections.abc import MutableMapping
from typing import Any, Final

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hub.api.errors import problem, refused
from hub.api.measures import REQUESTS
from hub.api.request_log import RequestLog, may_change
from hub.services.access.turns import ClientGone
from hub.services.context.hub import Hub
from hub.services.context.ids import request_id as new_request_id
from hub.store.errors import StoreUnavailable
from shared.documents import JsonView
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import REGISTER_PATH

_SERVED: Final = (
    "application/json",
    "application/problem+json",
    "application/x-ndjson",
    "text/event-stream",
)
_BULK: Final = frozenset({"/v1/jobs:batch", "/v1/apply"})
# Of every answer that says nothing else: it is no page, and no other site's page may hold or read it.
_BROWSER: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)
_OF_PAGES: Final = b"content-security-policy"  # a page says it all itself
# A browser that came by TLS once comes by nothing else for a year.
_HSTS: Final = (b"strict-transport-security", b"max-age=31536000")
# Anyone may send these, so little is read of them.
_SMALL: Final = {REGISTER_PATH: 64 << 10, "/login": 4 << 10}
log = structlog.get_logger(__name__)


class Guard:
    """ASGI middleware; `state["request_id"]` is the request's id from here on."""

    def __init__(self, app: ASGIApp, hub: Hub) -> None:
        self._app = app
        self._hub = hub
        self._clock = hub.clock
        self._limits = hub.settings.api
        self._lines = RequestLog(hub.clock)
        self._held = 0  # bytes of bodies, of all requests that are not answered yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = new_request_id()
        scope.setdefault("state", {})["request_id"] = request_id
        started = False
        began = self._clock.monotonic()

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                route = scope.get("route")
                REQUESTS.labels(
                    scope["method"] if route else "", getattr(route, "path", ""), message["status"]
                ).observe(self._clock.monotonic() - began)
                self._lines.tell(scope, message["status"], self._clock.monotonic() - began)
                said = message.get("headers", ())
                message["headers"] = [
                    *said,
                    (b"x-request-id", request_id.encode()),
                    *(() if any(name == _OF_PAGES for name, _ in said) else _BROWSER),
                    *((_HSTS,) if scope["scheme"] == "https" else ()),
                ]
            await send(message)

        body = _Body(self, receive, self._limit(scope["path"]))
        try:
            _check(scope, body.limit)
            self._check_load(scope)
            await self._app(scope, body.receive, sending)
        except (ClientDisconnect, ClientGone):
            return  # the client is gone
        except Exception as error:  # noqa: BLE001 - nothing escapes to the wire
            reply = _answer(error, request_id, scope)
            if not started:
                await reply(scope, receive, sending)
        finally:
            self._held -= body.seen

    def hold(self, count: int) -> None:
        """Note bytes of a body. Raises Rejected: TooManyRequests."""
        self._held += count
        if self._held > self._limits.held_bytes:
            detail = f"bodies of {self._limits.held_bytes} bytes are being read; send it again"
            raise Rejected(RejectCode.TOO_MANY_REQUESTS, detail)

    def _check_load(self, scope: Scope) -> None:
        if scope["query_string"].count(b"&") >= self._limits.query_parameters:
            detail = f"the query has more than {self._limits.query_parameters} parameters"
            raise Rejected(RejectCode.TOO_MANY_PARAMETERS, detail)
        if may_change(scope) and self._hub.waiting_writes >= self._limits.queued_writes:
            detail = f"{self._hub.waiting_writes} writes wait for the store; send it again"
            raise Rejected(RejectCode.TOO_MANY_REQUESTS, detail)

    def _limit(self, path: str) -> int:
        if path in _SMALL:
            return _SMALL[path]
        if path in _BULK:
            return self._limits.bulk_body_bytes
        if path.startswith("/agent/"):
            return self._limits.agent_body_bytes
        return self._limits.body_bytes


def _answer(error: Exception, request_id: str, scope: JsonView) -> Any:
    if isinstance(error, Rejected):
        scope["state"]["refusal"] = error.code
        return refused(error, request_id)
    if isinstance(error, StoreUnavailable):
        log.error("store unavailable", request_id=request_id, error=str(error))
        return problem(RejectCode.UNAVAILABLE, "the store does not answer; try again", request_id)
    log.error("request failed", request_id=request_id, path=scope["path"], exc_info=error)
    return problem(
        RejectCode.INTERNAL, "an error of the hub; its log has this request id", request_id
    )


def _check(scope: Scope, limit: int) -> None:
    """Refuse by headers alone. Raises Rejected."""
    headers = Headers(scope=scope)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Rejected(
            RejectCode.ENCODING_NOT_SUPPORTED, "send the body as it is, without Content-Encoding"
        )
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(limit)
    accept = headers.get("accept")
    if accept and scope["path"].startswith("/v1/") and not _acceptable(accept):
        raise Rejected(RejectCode.NOT_ACCEPTABLE, f"this is served as {' or '.join(_SERVED)}")


def _acceptable(accept: str) -> bool:
    for offered in accept.split(","):
        wanted = offered.partition(";")[0].strip().lower()
        if wanted in {"*/*", "application/*", "text/*", "text/html", *_SERVED}:
            return True
    return False


class _Body:
    """One request's body as it comes; `seen` bytes of it are held."""

    def __init__(self, guard: Guard, receive: Receive, limit: int) -> None:
        self.seen = 0
        self.limit = limit
        self._guard = guard
        self._receive = receive

    async def receive(self) -> MutableMapping[str, Any]:
        """The next message. Raises Rejected: BodyTooLarge, TooManyRequests."""
        message = await self._receive()
        if message["type"] == "http.request":
            count = len(message.get("body", b""))
            self.seen += count
            self._guard.hold(count)
            if self.seen > self.limit:
                raise _too_large(self.limit)
        return message


def _too_large(limit: int) -> Rejected:
    return Rejected(RejectCode.BODY_TOO_LARGE, f"the body is larger than {limit} bytes")

"""The HTTP face of a simulated cluster: a raw ASGI application, one per cluster.

Parses the request, asks who is calling, routes by verb, and holds every reply back until all that
it shows is durable. Refusals leave as `metav1.Status`; a bug leaves as 500 and one log line.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import structlog

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.writer import acting_as
from shared.kubesim.requests.call import (
    ANONYMOUS,
    Call,
    Reply,
    User,
    error_reply,
    json_reply,
    read_scope,
)
from shared.kubesim.server.discovery import VERSION, DiscoveryRoutes
from shared.kubesim.server.reading import Reader
from shared.kubesim.server.reviews import ISSUER, serves
from shared.kubesim.server.writing import Writer
from shared.kubesim.store.objects import ObjectStore

log = structlog.get_logger(__name__)

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
# (user, verb, resource, namespace) -> why it is refused, or "".
Authorize = Callable[[User, str, Resource | None, str], str]
Route = Callable[[Call], Awaitable[Reply | None]]

_OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})
_MAX_BODY = 3 * 1024 * 1024
_WRITE_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Durability(Protocol):
    """When a write may be shown to anybody."""

    async def committed(self, rv: int) -> None:
        """Return once every change up to `rv` outlasts a crash."""
        ...


class Intercept(Protocol):
    """A fault to play on a request, before and after it is carried out."""

    async def before(self, call: Call, verb: str) -> Reply | None: ...

    async def after(self, call: Call, verb: str, reply: Reply) -> Reply:
        """The reply to send."""
        ...


class ConnectionCut(Exception):
    """Raised by an intercept to end the connection without a reply."""


class SimulatedApiServer:
    """One cluster's API as an ASGI application."""

    def __init__(
        self,
        store: ObjectStore,
        reader: Reader,
        writer: Writer,
        durability: Durability,
        tokens: dict[str, User],
        *,
        version: dict[str, str] = VERSION,
    ) -> None:
        self._store = store
        self._reader = reader
        self._writer = writer
        self._durability = durability
        self.tokens = tokens
        self._discovery = DiscoveryRoutes(store.registry, version)
        self.authorize: Authorize = lambda user, verb, resource, namespace: ""
        self.intercept: Intercept | None = None
        self.check_watch: Callable[[Call], None] | None = None  # raises ApiError
        self.check_delete: Callable[[Resource, str], None] = lambda resource, name: None
        # Further paths (OpenAPI, reviews, private endpoints) and subresources, by name.
        self.routes: list[Route] = []
        self.subresources: dict[str, Callable[[Call], Awaitable[Reply]]] = {}
        self.streams: dict[str, Callable[[Call, Send], Awaitable[None]]] = {}

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        call = read_scope(scope, self._store.registry)
        reply = await self._guarded(call, receive, send)
        if reply is not None:
            await _send(reply, call, send)

    async def _guarded(self, call: Call, receive: Receive, send: Send) -> Reply | None:
        try:
            call.user = self._authenticated(call)
            call.body = await _body(receive)
            with acting_as(call.user.name):
                return await self._answer(call, receive, send)
        except ConnectionCut:
            _cut(send)
            await self._store.clock.sleep(0)  # uvicorn learns of it in the next turn
            await self._store.clock.sleep(0)
            return None
        except errors.ApiError as error:
            # A refusal shows what is there, too: it waits like any other reply.
            await self._durability.committed(self._store.rv)
            return error_reply(error)
        except Exception:
            log.exception("request failed", method=call.method, path=call.path)
            fault = errors.ApiError(500, "InternalError", "an error on the server: see its log")
            return error_reply(fault)

    def _authenticated(self, call: Call) -> User:
        kind, _, token = call.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        token = token.strip()
        user = self.tokens.get(token) if kind.lower() == "bearer" else None
        if user is not None and serves(token, ISSUER, self._store.clock.now()):
            return user
        if call.path.rstrip("/") in _OPEN_PATHS and not token:
            return ANONYMOUS
        raise errors.ApiError(401, "Unauthorized", "Unauthorized")

    async def _answer(self, call: Call, receive: Receive, send: Send) -> Reply | None:
        if call.path.rstrip("/") in _OPEN_PATHS - {"/version"}:
            return Reply(200, b"ok", "text/plain; charset=utf-8")
        verb = verb_of(call)
        refusal = self.authorize(call.user, verb, call.resource, call.namespace)
        if refusal:
            plural = call.resource.plural if call.resource else call.path
            group = call.resource.group if call.resource else ""
            raise errors.forbidden(plural, group, call.name, refusal)
        if self.intercept is not None:
            reply = await self.intercept.before(call, verb)
            if reply is not None:
                return reply
        if verb == "watch":
            if self.check_watch is not None:
                self.check_watch(call)
            await self._reader.watch(call, receive, send, self._durability.committed)
            return None
        stream = self._stream(call)
        if stream is not None:
            await stream(call, send)
            return None
        reply = await self._reply(call, verb)
        if self.intercept is not None:
            reply = await self.intercept.after(call, verb, reply)
        return reply

    def _stream(self, call: Call) -> Callable[[Call, Send], Awaitable[None]] | None:
        if not call.subresource or call.resource is None or call.method != "GET":
            return None
        return self.streams.get(f"{call.resource.key}/{call.subresource}")

    async def _reply(self, call: Call, verb: str) -> Reply:
        if call.resource is None:
            reply = await self._elsewhere(call)
        else:
            reply = await self._of_resource(call, verb)
        # Also reads wait: nobody may see a write that a crash could take back.
        await self._durability.committed(self._store.rv)
        return reply

    async def _of_resource(self, call: Call, verb: str) -> Reply:
        assert call.resource is not None
        special = self.subresources.get(f"{call.resource.key}/{call.subresource}")
        special = special or self.subresources.get(f"*/{call.subresource}")
        if call.subresource and special:
            return await special(call)
        if call.subresource in ("", "status", "finalize"):
            return self._plain(call, verb)
        raise errors.no_such_path()

    async def _elsewhere(self, call: Call) -> Reply:
        for route in self.routes:
            reply = await route(call)
            if reply is not None:
                return reply
        if call.method == "GET":
            answer = self._discovery.answer(call)
            if answer is not None:
                return answer
            if call.path == "/":
                paths = ["/api", "/apis", "/healthz", "/openapi/v2", "/openapi/v3", "/version"]
                return json_reply({"paths": paths})
        raise errors.no_such_path()

    def _plain(self, call: Call, verb: str) -> Reply:
        resource = call.served()
        if call.subresource == "status" and not resource.has_status:
            raise errors.no_such_path()
        if resource.namespaced and not call.namespace and verb not in ("list", "deletecollection"):
            raise errors.no_such_path()
        act = {
            "get": self._reader.get,
            "list": self._reader.collection,
            "create": self._writer.create,
            "update": self._writer.replace,
            "patch": self._writer.patch,
            "delete": self._writer.delete,
            "deletecollection": self._writer.delete_collection,
        }.get(verb)
        if act is None or (call.subresource and verb not in ("get", "update", "patch")):
            raise errors.method_not_allowed()
        if verb == "delete":
            self.check_delete(resource, call.name)
        return act(call)


def verb_of(call: Call) -> str:
    """The Kubernetes verb of a request."""
    if call.method in ("GET", "HEAD"):
        if call.resource is not None and call.flag("watch") and not call.subresource:
            return "watch"
        return "get" if call.name else "list"
    if call.method == "DELETE" and not call.name:
        return "deletecollection"
    if (call.method == "POST") is bool(call.name) and not call.subresource:
        return "unknown"
    return _WRITE_VERBS.get(call.method, "unknown")


def _cut(send: Send) -> None:
    """Abort the connection. ASGI knows no such thing: it is asked of uvicorn's own object."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        transport.abort()


async def _body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    chunks, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > _MAX_BODY:
            raise errors.ApiError(
                413, "RequestEntityTooLarge", f"Request entity too large: limit is {_MAX_BODY}"
            )
    return b"".join(chunks)


async def _send(reply: Reply, call: Call, send: Send) -> None:
    headers = [
        (b"content-type", reply.content_type.encode()),
        (b"content-length", str(len(reply.body)).encode()),
        (b"cache-control", b"no-cache, private"),
    ]
    headers += [(name.encode(), value.encode()) for name, value in reply.headers.items()]
    headers += [(b"warning", _warning(text)) for text in call.warnings]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send(
        {"type": "http.response.body", "body": b"" if call.method == "HEAD" else reply.body}
    )


def _warning(text: str) -> bytes:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'299 - "{quoted}"'.encode("ascii", "replace")

"""Every request of the agents: to their member's API server and to the hub, within the event loop.

A request may be lost before or after it is carried out, and the agent may be killed with one.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import aiohttp
import httpx

from shared.kube.connection import Connection
from tests.simulation.owners.virtual import passes

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Body:
    """The body of a watch, as aiohttp gives it."""

    def __init__(self, stall_s: float | None) -> None:
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._stall_s = stall_s

    async def iter_any(self) -> AsyncIterator[bytes]:
        while True:
            async with asyncio.timeout(self._stall_s):
                part = await self.parts.get()
            if part is None:
                return
            yield part


class Answer:
    """An answer, as much of aiohttp's as the product uses."""

    def __init__(self, content: Body) -> None:
        self.status, self.headers = 0, dict[str, str]()
        self.content = content
        self.raw = b""
        self.task: asyncio.Task[None] | None = None
        self.begun = asyncio.Event()

    async def read(self) -> bytes:
        return self.raw

    def close(self) -> None:
        if self.task is not None:
            self.task.cancel()

    release = close

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def take(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode().title(): v.decode() for k, v in message["headers"]}
            self.begun.set()
        elif self.task is not None:
            if message.get("body"):
                self.content.parts.put_nowait(message["body"])
            if not message.get("more_body"):
                self.content.parts.put_nowait(None)
        else:
            self.raw += message.get("body", b"")


class Line:
    """One agent process's connection to its member. `dead`: the process was killed."""

    def __init__(self, app: Any, token: str, delay: Callable[[], float]) -> None:
        self.app, self.token, self.delay = app, token, delay
        self.dead = False
        self.writes_left = -1  # it is killed with the write after so many; -1: it is not
        self.dies_when = "before"
        self.killed: Callable[[], None] = lambda: None
        self.loses = 0.0  # share of answers that are lost
        self.dice: Any = None

    async def send(self, method: str, url: str, raw: bytes, headers: dict[str, str]) -> Answer:
        self._refuse_if_dead()
        await passes(self.delay())
        self._refuse_if_dead()
        if method in _WRITES and "dryRun" not in url:
            await self._may_die("before")
        answer = await self._carry_out(method, url, raw, headers)
        if method in _WRITES and "dryRun" not in url:
            await self._may_die("after")
            if self.dice.random() < self.loses:
                raise aiohttp.ClientConnectionError("the answer is lost")
        await passes(self.delay())
        self._refuse_if_dead()
        return answer

    def _refuse_if_dead(self) -> None:
        if self.dead:
            raise aiohttp.ClientConnectionError("the process was killed")

    async def _may_die(self, when: str) -> None:
        if self.writes_left < 0 or self.dead:
            return
        if self.dies_when != when:
            return
        if self.writes_left > 0:
            self.writes_left -= 1
            return
        self.dead = True
        self.killed()
        await passes(3600.0)

    async def _carry_out(
        self, method: str, url: str, raw: bytes, headers: dict[str, str]
    ) -> Answer:
        parts = urlsplit(url)
        scope = {
            "type": "http", "method": method, "path": unquote(parts.path),
            "raw_path": parts.path.encode(), "query_string": parts.query.encode(),
            "headers": [(k.lower().encode(), v.encode()) for k, v in
                        {**headers, "Authorization": f"Bearer {self.token}"}.items()],
        }  # fmt: skip
        given = [{"type": "http.request", "body": raw, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if given:
                return given.pop()
            await asyncio.Event().wait()
            return {"type": "http.disconnect"}

        answer = Answer(Body(90.0))
        if "watch=1" not in parts.query:
            await self.app(scope, receive, answer.take)
            return answer
        answer.task = asyncio.create_task(self.app(scope, receive, answer.take))
        await answer.begun.wait()
        return answer


class _Sending:
    """What `ClientSession.request` returns: it is awaited, or entered."""

    def __init__(self, made: Any) -> None:
        self._made = made
        self._answer: Answer | None = None

    def __await__(self) -> Any:
        return self._made.__await__()

    async def __aenter__(self) -> Answer:
        self._answer = answer = await self._made
        return answer

    async def __aexit__(self, *_: object) -> None:
        if self._answer is not None:
            self._answer.close()


class MemberLine(Connection):
    """The product's connection, over a `Line`."""

    def __init__(self, line: Line, clock: Any) -> None:
        self._line, self._clock = line, clock
        self._interval = self._next_slot = 0.0
        self._host = ""
        self.heard = lambda _path, _status, _took_s: None

    async def close(self) -> None:
        return None

    async def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Content-Type": "application/json"}

    def _send(
        self, method: str, path: str, params: Any, payload: bytes | None, headers: Any,
        timeout: aiohttp.ClientTimeout, buffer: int = 0,
    ) -> Any:  # fmt: skip
        url = str(httpx.URL(path, params=dict(params) if params else None))

        async def made() -> Answer:
            async with asyncio.timeout(timeout.total):
                return await self._line.send(method, url, payload or b"", dict(headers))

        return _Sending(made())


class HubLine(httpx.AsyncBaseTransport):
    """One agent process's way to the hub; `sent` sees each body."""

    def __init__(self, member: Any, line: Line, sent: Callable[[str, bytes], None]) -> None:
        self._member, self._line, self._sent = member, line, sent

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        self._sent(f"{self._member.name} to {request.url.path}", body)
        await passes(0.01)
        hub = self._member.fleet.hub
        if self._line.dead or self._member.is_cut or not hub.up:
            raise httpx.ConnectError("the hub is not reached", request=request)
        inner = httpx.ASGITransport(hub.app, raise_app_exceptions=False)
        timeout = (request.extensions.get("timeout") or {}).get("read")
        try:
            async with asyncio.timeout(timeout):
                answer = await hub.guarded(inner.handle_async_request(request))
        except TimeoutError:
            raise httpx.ReadTimeout("no answer", request=request) from None
        if self._line.dead or self._member.is_cut:
            raise httpx.ReadError("the answer is lost", request=request)
        return answer

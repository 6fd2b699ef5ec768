"""A hub in this process behind its real server: spoken to over sockets, byte by byte where need be."""

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from hub.api import agents
from hub.api.app import create_app
from hub.api.connections import Door
from hub.api.handshakes import SecureListener, Trust
from hub.services.access import credentials
from hub.services.context.hub import Hub
from hub.services.context.settings import Settings
from hub.store.engine import Database
from hub.web import pages
from shared.clock import ManualClock
from tests import waiting
from tests.api.serving import START, a_job
from tests.prepared import url_of

_PATIENCE_S = 20.0


@dataclass(frozen=True)
class Heard:
    """What came back on a socket until the hub hung up, or until one whole reply was there."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> Any:
        """The body, which must be problem+json."""
        assert self.headers["content-type"] == "application/problem+json", self
        return json.loads(self.body)


class Line:
    """One connection to the hub."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def say(self, text: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(text)
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    def cut(self) -> None:
        """Leave at once, whatever was said or is still to come."""
        self._writer.transport.abort()

    async def hear(self) -> Heard:
        """One reply."""
        async with asyncio.timeout(_PATIENCE_S):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            lines = head.split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
            body = await self._reader.readexactly(int(headers.get("content-length", 0)))
            return Heard(int(lines[0].split()[1]), headers, body)

    async def hear_out(self) -> bytes:
        """What still comes until the hub hangs up."""
        async with asyncio.timeout(_PATIENCE_S):
            return await self._reader.read()

    async def hear_until(self, text: bytes) -> bytes:
        """What comes up to this text, and with it."""
        async with asyncio.timeout(_PATIENCE_S):
            return await self._reader.readuntil(text)

    async def is_hung_up(self) -> bool:
        """Whether the hub closes the connection without another word."""
        async with asyncio.timeout(_PATIENCE_S):
            try:
                return await self._reader.read(1) == b""
            except ConnectionError:
                return True


@dataclass
class Listening:
    """The hub, its door, the clock of both, and the administrator's token."""

    hub: Hub
    db: Database
    door: Door
    clock: ManualClock
    token: str
    address: tuple[str, int]
    stack: contextlib.AsyncExitStack
    served: set[Any]  # requests that the application is busy with

    async def line(self, trust: ssl.SSLContext | None = None) -> Line:
        """A new connection, by TLS if `trust` is given, which is closed with the hub."""
        reader, writer = await asyncio.open_connection(*self.address, ssl=trust)
        line = Line(reader, writer)
        self.stack.callback(line.cut)
        return line

    async def ask(self, text: bytes) -> Heard:
        """Say something on a connection of its own, and hear the first reply."""
        line = await self.line()
        await line.say(text)
        return await line.hear()

    def head(self, method: str, path: str, *more: str, token: bool = True) -> bytes:
        """A request's header, with the administrator's token."""
        lines = [f"{method} {path} HTTP/1.1", "Host: hub", *more]
        if token:
            lines.append(f"Authorization: Bearer {self.token}")
        return "\r\n".join([*lines, "", ""]).encode()


async def send(
    hub: Listening, method: str, path: str, *headers: str, body: object = None
) -> Heard:
    """One request with the administrator's token on a connection of its own."""
    content = b"" if body is None else json.dumps(body).encode()
    more = (*headers, f"Content-Length: {len(content)}") if content else headers
    if content and not any(each.lower().startswith("content-type") for each in headers):
        more = (*more, "Content-Type: application/json")
    return await hub.ask(hub.head(method, path, *more) + content)


async def a_submitted(hub: Listening, name: str = "ok") -> str:
    """The uid of a job that waits."""
    heard = await send(hub, "POST", "/v1/jobs", body=a_job(name))
    assert heard.status == 201, heard
    return str(json.loads(heard.body)["uid"])


async def until(condition: Callable[[], object]) -> None:
    """Let the server take its turns of the loop until `condition` holds; bounded."""
    async with asyncio.timeout(_PATIENCE_S):
        while not condition():
            await waiting.turns()


async def _hung_up(door: Door) -> None:
    """Both ends of every connection are closed: none is left for the collector to warn about."""
    for connection in list(door.connections):
        connection.transport.abort()
    await until(lambda: not door.connections)
    await waiting.turns()


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def listening(
    folder: Path, limits: Settings | None = None, trust: Trust | None = None
) -> AsyncIterator[Listening]:
    """Serve a fresh hub on a loopback port for the length of the block; by TLS if `trust` is given."""
    clock = ManualClock(START)
    async with contextlib.AsyncExitStack() as stack:
        db = Database.open(url_of(folder), clock)
        stack.push_async_callback(db.close)
        hub = Hub(db, clock, limits, page_key=b"k" * 32)
        app = create_app(hub, (agents.router, pages.router), pages.nothing_here)
        door = Door(hub.settings.api, clock, trust=trust)
        stack.push_async_callback(_hung_up, door)
        config = uvicorn.Config(
            app, http=door.protocol(), lifespan="off", access_log=False, log_config=None
        )
        config.load()
        state = ServerState()
        listener = socket.create_server(("127.0.0.1", 0))
        protocol: Any = config.http_protocol_class

        def make() -> Any:
            return protocol(config=config, server_state=state, app_state={})

        if trust is None:
            server = await asyncio.get_running_loop().create_server(make, sock=listener)
            stack.callback(server.close)
        else:
            accepting = asyncio.create_task(SecureListener(door, trust, listener, make).run())
            stack.push_async_callback(_ended, accepting)
            stack.callback(listener.close)
        token = await db.write(
            lambda unit: credentials.issue_bearer(unit, "administrator", "admin")
        )
        address = listener.getsockname()[:2]
        yield Listening(hub, db, door, clock, token, address, stack, state.tasks)

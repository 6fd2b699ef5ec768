"""TCP links that can be broken: they pass bytes on as they are, so TLS goes through unread.

One thread holds all links of a schedule. What a link does with traffic is its mode:

    pass   both directions flow
    cut    open connections end, new ones are refused
    hang   requests are held and land when the mode changes, also those whose sender has given up
    mute   requests land; the answers are held until the mode changes
    lose   requests land; the connection ends instead of the answer
    slow   every chunk waits `delay_s`
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Self

Mode = Literal["pass", "cut", "hang", "mute", "lose", "slow"]
MODES: tuple[Mode, ...] = ("pass", "cut", "hang", "mute", "lose", "slow")
_CHUNK = 1 << 16
# So long a request whose sender is gone keeps its connection to the server: the server must be able
# to carry it out before it learns that nobody waits.
_ABANDONED_S = 3.0
_LOOPBACK = "127.0.0.1"


@dataclass
class Link:
    """One listening port in front of `targets`, in turn. With `tls` the handshake passes whatever the mode.

    `barred`: targets that no connection over this link reaches.
    """

    targets: tuple[int, ...]
    tls: bool
    port: int = 0
    mode: Mode = "pass"
    delay_s: float = 0.2
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    connections: set["_Connection"] = field(default_factory=set)
    held: int = 0  # chunks of requests that wait for the mode to change
    barred: frozenset[int] = frozenset()
    turn: int = 0
    tap: Callable[[bytes], None] | None = None  # is told what clients send

    def candidates(self) -> list[int]:
        """The targets to try for one connection, in order; the next one begins with another."""
        first = self.turn % len(self.targets)
        self.turn += 1
        ordered = (*self.targets[first:], *self.targets[:first])
        return [each for each in ordered if each not in self.barred]


class Links:
    """All links of one schedule, carried by one thread from `with` to its end."""

    def __init__(self) -> None:
        self._links: dict[str, Link] = {}
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def open(self, name: str, *targets: int, tls: bool) -> int:
        """A new link to a port of this machine, or to several in turn; the port that it listens on."""
        link = self._links[name] = Link(targets, tls)
        return asyncio.run_coroutine_threadsafe(self._listen(link), self._loop).result(10)

    def set(self, name: str, mode: Mode, *, delay_s: float = 0.2) -> None:
        """Change what a link does from now on."""
        self._loop.call_soon_threadsafe(_change, self._links[name], mode, delay_s)

    def bar(self, name: str, *targets: int) -> None:
        """From now on a link leads to none of these; what it carries to them ends."""
        self._loop.call_soon_threadsafe(_bar, self._links[name], frozenset(targets))

    def listen_in(self, name: str, tap: Callable[[bytes], None]) -> None:
        """Have `tap` called, in the links' thread, with what clients send over a link."""
        self._links[name].tap = tap

    def held(self, name: str) -> int:
        """How many chunks of requests a hanging link holds now."""
        return self._links[name].held

    def heal(self) -> None:
        """Let everything pass; what was held lands now."""
        for name in self._links:
            self.set(name, "pass")
            self.bar(name)

    async def _listen(self, link: Link) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(asyncio.CancelledError):  # the campaign ends
                await _Connection(link, reader, writer).run()

        server = await asyncio.start_server(serve, _LOOPBACK, 0)
        self._servers.append(server)
        link.port = server.sockets[0].getsockname()[1]
        return link.port

    async def _close(self) -> None:
        tasks = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
        for server in self._servers:
            server.close()
        for link in self._links.values():
            _change(link, "cut", 0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _change(link: Link, mode: Mode, delay_s: float) -> None:
    link.mode, link.delay_s = mode, delay_s
    changed, link.changed = link.changed, asyncio.Event()
    changed.set()
    if mode == "cut":
        for connection in list(link.connections):
            connection.abort()


def _bar(link: Link, targets: frozenset[int]) -> None:
    link.barred = targets
    for connection in list(link.connections):
        if connection.target in targets:
            connection.abort()


class _Connection:
    """One client's connection and the one to the server that belongs to it."""

    def __init__(
        self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._link = link
        self._reader, self._writer = reader, writer
        self._server: asyncio.StreamWriter | None = None
        self._chunks = 0  # that the client has sent
        self.target = 0

    async def run(self) -> None:
        if self._link.mode == "cut":
            self.abort()
            return
        answers = await self._connected()
        if answers is None:
            self.abort()
            return
        self._link.connections.add(self)
        answering = asyncio.ensure_future(self._answers(answers))
        try:
            with contextlib.suppress(OSError):
                await self._requests(self._server)
            await asyncio.wait({answering}, timeout=_ABANDONED_S)
        finally:
            answering.cancel()
            self._link.connections.discard(self)
            self.abort()

    async def _connected(self) -> asyncio.StreamReader | None:
        """Connect to the first target that takes it."""
        for target in self._link.candidates():
            with contextlib.suppress(OSError):
                answers, self._server = await asyncio.open_connection(_LOOPBACK, target)
                self.target = target
                return answers
        return None

    def abort(self) -> None:
        """End both sides at once."""
        for side in (self._writer, self._server):
            if side is not None:
                side.transport.abort()

    async def _requests(self, server: asyncio.StreamWriter) -> None:
        while data := await self._reader.read(_CHUNK):
            self._chunks += 1
            if self._link.tap is not None:
                self._link.tap(data)
            if self._link.mode == "hang" and not (self._link.tls and self._chunks == 1):
                self._link.held += 1  # the first chunk opens the handshake
                try:
                    await self._while_mode("hang")
                finally:
                    self._link.held -= 1
            await self._slowly()
            server.write(data)
            await server.drain()

    async def _answers(self, answers: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await answers.read(_CHUNK):
                if self._asked():
                    if self._link.mode == "lose":
                        break
                    await self._while_mode("hang", "mute")
                await self._slowly()
                self._writer.write(data)
                await self._writer.drain()
        self.abort()

    def _asked(self) -> bool:
        """Whether the client is beyond a TLS handshake, which takes two chunks of its own."""
        return self._chunks >= (3 if self._link.tls else 1)

    async def _while_mode(self, *modes: Mode) -> None:
        while self._link.mode in modes:
            await self._link.changed.wait()

    async def _slowly(self) -> None:
        if self._link.mode == "slow":
            await asyncio.sleep(self._link.delay_s)

"""Many connections to one hub process, and how it does meanwhile: time to an answer, memory, what it says."""

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from tests import waiting

_AT_ONCE = 250  # connections that are made side by side
_OWN_FILES = 400
_OPEN: set[socket.socket] = set()


def most_connections(wanted: int) -> int:
    """As many as this host lets one process have, up to `wanted`: the soft limit is raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard - _OWN_FILES)


def memory_mib(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"{pid} has no memory")


def open_files(pid: int) -> int:
    """How many files a process has open, connections among them."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


class Caller:
    """One connection, read by nobody unless asked."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    @classmethod
    async def dial(
        cls, address: tuple[str, int], source: str = "127.0.0.1", *, window: int = 0
    ) -> "Caller":
        """From a loopback address; `window`: bytes that the kernel takes for us."""
        sock = socket.socket()
        sock.setblocking(False)
        if window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        _OPEN.add(sock)
        sock.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(sock, address)
        return cls(sock)

    async def say(self, text: bytes) -> bool:
        """Whether the other side still listens."""
        try:
            await asyncio.get_running_loop().sock_sendall(self._sock, text)
        except OSError:
            return False
        return True

    async def hear(self, count: int = 4096, *, within_s: float = 20.0) -> bytes:
        """What comes next; b"" once it is over. Raises TimeoutError, and then nothing was taken."""
        loop, is_there = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._sock, is_there.set)
        try:
            async with asyncio.timeout(within_s):
                await is_there.wait()
            return self._sock.recv(count)
        except BlockingIOError:
            return await self.hear(count, within_s=within_s)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            return b""
        finally:
            loop.remove_reader(self._sock)

    def leave(self) -> None:
        _OPEN.discard(self._sock)
        self._sock.close()


def leave_all() -> None:
    """Close every connection that is open still."""
    while _OPEN:
        _OPEN.pop().close()


async def many(count: int, make: Callable[[int], Awaitable[Caller]]) -> list[Caller]:
    """`count` connections, some of them at a time."""
    made: list[Caller] = []
    for start in range(0, count, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, count))
        made += await asyncio.gather(*(make(number) for number in numbers))
    return made


class Pulse:
    """Asks for /healthz again and again, from an address of its own, and times the answers."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self.took_s: list[float] = []
        self.failed = 0

    @contextlib.asynccontextmanager
    async def beating(self) -> AsyncIterator["Pulse"]:
        """For the length of the block."""
        task = asyncio.create_task(self._beat())
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def ask(self) -> float:
        """One question on a connection of its own: how long its answer took, s. AssertionError."""
        began = time.monotonic()
        caller = await Caller.dial(self._address, "127.0.0.9")
        try:
            await caller.say(b"GET /healthz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
            heard = await caller.hear()
        finally:
            caller.leave()
        assert heard.startswith(b"HTTP/1.1 200"), heard[:200]
        return time.monotonic() - began

    @property
    def p99_s(self) -> float:
        took = sorted(self.took_s)
        return took[int(len(took) * 0.99)] if took else 0.0

    async def _beat(self) -> None:
        while True:
            try:
                self.took_s.append(await self.ask())
            except (AssertionError, OSError, TimeoutError):
                self.failed += 1
            await waiting.span(0.05, why="a pulse")

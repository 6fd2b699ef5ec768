"""The thinnest HTTP/1.1 client: one kept-alive connection, JSON in and out, and server-sent events.

A load generator shares the machine with the hub; a full client would cost as much as the hub does.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import orjson

from shared.clock import SystemClock

_LONGEST = 1 << 26
_THROTTLED = 429
_sleep = SystemClock().sleep


class Connection:
    """One connection to the hub; one request at a time."""

    def __init__(self, server: str, token: str) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname, parts.port
        self._head = f"Host: {parts.netloc}\r\nAuthorization: Bearer {token}\r\n"
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self.throttled = 0  # answers that asked to be tried again later

    async def ask(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        """Status and JSON of one exchange; a 429 that says when to try again is waited out."""
        while True:
            reader = await self._send(method, path, body, content_type)
            status, head = await _read_head(reader)
            length = int(head.get(b"content-length", b"0"))
            content = await reader.readexactly(length) if length else b"null"
            if status != _THROTTLED or b"retry-after" not in head:
                return status, orjson.loads(content)
            self.throttled += 1
            await _sleep(float(head[b"retry-after"]))

    async def events(self, path: str) -> AsyncIterator[Any]:
        """The data of server-sent events; the stream is ours until it ends."""
        reader = await self._send("GET", path, None, "application/json")
        status, _ = await _read_head(reader)
        if status != 200:
            raise SystemExit(f"GET {path}: {status}")
        while line := await reader.readline():
            if line.startswith(b"data: "):
                yield orjson.loads(line[6:])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    async def _send(
        self, method: str, path: str, body: Any, content_type: str
    ) -> asyncio.StreamReader:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                self._host, self._port, limit=_LONGEST
            )
        content = b"" if body is None else orjson.dumps(body)
        about = f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n"
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{about if content else ''}\r\n"
        self._writer.write(head.encode() + content)
        return self._reader


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[bytes, bytes]]:
    """Status, and headers by their names in small letters."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    pairs = (line.partition(b":") for line in lines)
    return int(first[9:12]), {name.lower(): value.strip() for name, _, value in pairs}


def checked(answer: tuple[int, Any], *expected: int) -> Any:
    """The JSON of an answer whose status is as expected. Raises SystemExit."""
    status, content = answer
    if status not in expected:
        raise SystemExit(f"{status}: {json.dumps(content)[:500]}")
    return content

"""Something that speaks TLS and may be a hub: it says which CA it is of, and keeps what it is told."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.wire.agent_v1 import CA_PATH
from tests.certificates import Pair, write

_LOCATION = "Location: http://127.0.0.1:1/\r\n"


@dataclass
class TlsHub:
    """`heard`: (request line, value of Authorization) of every request."""

    port: int = 0
    ca: bytes | None = None
    redirects: bool = False
    heard: list[tuple[str, str]] = field(default_factory=list)
    clients: list[dict[str, Any]] = field(default_factory=list)  # certificates that were shown

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.append(writer.get_extra_info("peercert") or {})
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
                await reader.readexactly(int(headers.get("content-length", 0)))
                self.heard.append((head[0], headers.get("authorization", "")))
                is_ca = CA_PATH in head[0] and self.ca is not None
                body = json.dumps({"ca": self.ca.decode()} if is_ca else {"code": "No"}).encode()
                status = "200 OK" if is_ca else "409 Conflict"
                more = ""
                if self.redirects:
                    status, more = "307 Temporary Redirect", _LOCATION
                text = f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\n\r\n"
                writer.write(text.encode() + body)
        writer.close()


@contextlib.asynccontextmanager
async def tls_hub(
    folder: Path,
    pair: Pair,
    *chain: bytes,
    ca: bytes | None = None,
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[TlsHub]:
    """Serve on loopback for the length of the block."""
    hub = TlsHub(ca=ca)
    context = context or ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*write(folder, pair, *chain))
    server = await asyncio.start_server(hub.answer, "127.0.0.1", 0, ssl=context)
    hub.port = server.sockets[0].getsockname()[1]
    try:
        yield hub
    finally:
        server.close()

"""What stands before the hubs of a fleet: it ends TLS and deals connections out, as an Ingress does."""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from tests import certificates
from tests.certificates import CA

_CHUNK = 65536


class Ingress:
    """Listens on loopback for the length of a `with` block, with a certificate that `ca` signs.

    `backends`: the ports that answer now; connections go to them in turn, and end where there is none.
    """

    def __init__(self, ca: CA, folder: Path, backends: Callable[[], Sequence[int]]) -> None:
        certificate, key = certificates.write(folder, ca.sign())
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificate, key)
        self._backends = backends
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.dealt: dict[int, int] = {}  # connections, by port
        self.url = ""
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        listening = asyncio.start_server(self._pass_on, "127.0.0.1", 0, ssl=self._tls)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result(10)
        self.url = f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        assert self._server is not None
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ports = self._backends()
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.CancelledError):
            if not ports:
                return
            port = min(ports, key=lambda each: self.dealt.get(each, 0))
            self.dealt[port] = self.dealt.get(port, 0) + 1
            there, back = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.closing(back):
                await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await source.read(_CHUNK):
            sink.write(chunk)
            await sink.drain()
    sink.close()

"""The part of a kubelet that gives logs, as a small server: the real API server comes here by TLS.

It serves `/containerLogs/NAMESPACE/POD/CONTAINER` with `timestamps`, `sinceTime`, `tailLines` and `follow`.
"""

import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests import certificates


@dataclass
class LogServer:
    """What containers have written, by path: instant and line; and what was asked."""

    port: int = 0
    lines: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    cuts: list[int] = field(
        default_factory=list
    )  # so many lines are sent, then the connection breaks
    over: threading.Event = field(default_factory=threading.Event)  # what is followed ends

    def told(self, query: dict[str, list[str]], path: str) -> list[str]:
        """The lines that a question asks for."""
        found = self.lines[path]
        if since := query.get("sinceTime"):
            found = [each for each in found if f"{each[0][:19]}Z" >= since[0]]
        if tail := query.get("tailLines"):
            found = found[-int(tail[0]) :]
        return [f"{at} {line}\n" if "timestamps" in query else f"{line}\n" for at, line in found]


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[LogServer]:
    """Serve for the length of the block."""
    state = LogServer()

    class Talk(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            state.asked.append(self.path)
            asked = urlsplit(self.path)
            query = parse_qs(asked.query)
            if asked.path not in state.lines:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            lines = state.told(query, asked.path)
            cut = state.cuts.pop(0) if state.cuts else None
            for line in lines[:cut]:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line.encode()))
                self.wfile.flush()
            if cut is not None:
                self.close_connection = True
                self.connection.close()
                return
            if "follow" in query:
                state.over.wait(60)
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Talk)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates.write(folder, certificates.CA().sign()))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    state.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.over.set()
        server.shutdown()
        server.server_close()
        thread.join()

"""A server that answers what a test says, request by request: what a hub, or something else, may do."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """One reply. `cut` closes the connection instead; `close` closes it after the reply, unsaid;
    `silent` keeps it open and says nothing.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    close: bool = False
    silent: bool = False


@dataclass
class Scripted:
    """The server: where it listens, what it still answers, and what it was asked."""

    address: str
    answers: list[Answer]
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


def items(*found: dict[str, Any]) -> Answer:
    """A list as the hub gives it."""
    return Answer({"items": list(found), "continue": None})


def problem(status: int, code: str, detail: str, **more: Any) -> Answer:
    """A refusal as the hub gives it."""
    return Answer({"status": status, "code": code, "detail": detail, **more}, status)


@contextlib.contextmanager
def answering(
    *answers: Answer, asked: Callable[[str], Answer] | None = None
) -> Iterator[Scripted]:
    """Answer in this order; the last answer is given again and again. `asked`: by the path instead."""
    script = Scripted("", list(answers))
    over = threading.Event()

    class Talk(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            script.bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            script.asked.append(f"{self.command} {self.path}")
            script.headers.append(dict(self.headers))
            if asked is not None:
                answer = asked(self.path)
            else:
                answer = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            if answer.silent:
                over.wait(30)
            self.close_connection = answer.cut or answer.close or answer.silent
            if answer.cut or answer.silent:
                return
            raw = answer.body
            body = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the names are the library's
        do_PUT = do_GET  # noqa: N815 - the names are the library's
        do_PATCH = do_GET  # noqa: N815 - the names are the library's
        do_DELETE = do_GET  # noqa: N815 - the names are the library's

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Talk)
    server.daemon_threads = True
    script.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield script
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()

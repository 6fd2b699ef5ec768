"""SDK and command line believe a hub's certificate for a reason, and say what is wrong with others."""

import contextlib
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from roadstead import AsyncClient, Client
from roadstead.errors import Unreachable, WrongAddress
from tests.api.process import running
from tests.certificates import CA, Pair, write

pytestmark = pytest.mark.anyio


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


class _Server(HTTPServer):
    def handle_error(self, *_: object) -> None:
        """Clients that do not believe hang up: as they should."""


@contextlib.contextmanager
def answering(folder: Path, pair: Pair) -> Iterator[str]:
    """A server of TLS with this certificate; yields its address."""
    server = _Server(("127.0.0.1", 0), _Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*write(folder, pair))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def ca_file(folder: Path, ca: CA) -> str:
    path = folder / "private-ca.pem"
    path.write_bytes(ca.pem)
    return str(path)


def test_a_private_ca_is_named(tmp_path, monkeypatch):
    """By argument or by ROADSTEAD_CA; a hub as a process of its own, spoken to by TLS alone."""
    ca = CA()
    cert, key = write(tmp_path / "tls", ca.sign())
    with running(tmp_path / "hub", f"--tls-cert={cert}", f"--tls-key={key}") as (_, address):
        assert address.startswith("https://127.0.0.1:")
        token = (tmp_path / "hub/admin.token").read_text().strip()
        with Client(address, token, ca=ca_file(tmp_path, ca)) as hub:
            assert hub.overview()
        monkeypatch.setenv("ROADSTEAD_CA", ca_file(tmp_path, ca))
        with Client(address, token) as hub:
            assert hub.overview()


def wrongs(ca: CA) -> dict[str, Pair]:
    return {
        "no trusted CA has signed it": CA("stranger").sign(),
        "it has expired": ca.sign(days=(-3, -1)),
        "it is not valid yet": ca.sign(days=(1, 3)),
        "it is for another host": ca.sign(["hub.example"]),
    }


@pytest.mark.parametrize("why", list(wrongs(CA())))
async def test_a_wrong_certificate_is_told_apart(tmp_path, why):
    """Another CA, another host, another time: each in words that say what to do; exit code 5."""
    ca = CA()
    with answering(tmp_path / "tls", wrongs(ca)[why]) as address:
        hub = Client(address, "a.b", ca=ca_file(tmp_path, ca))
        with hub, pytest.raises(Unreachable, match=why) as told:
            hub.overview()
        assert told.value.exit_code == 5
        async with AsyncClient(address, "a.b", ca=ca_file(tmp_path, ca)) as again:
            with pytest.raises(Unreachable, match=why):
                await again.overview()


def test_a_hub_spoken_to_in_the_wrong_way_is_told_with_the_right_one(tmp_path):
    """By TLS where it speaks none, and without where it does: the message has the address's beginning."""
    cert, key = write(tmp_path / "tls", CA().sign())
    with running(tmp_path / "tls-hub", f"--tls-cert={cert}", f"--tls-key={key}") as (_, address):
        plain = address.replace("https", "http")
        with Client(plain, "a.b") as hub, pytest.raises(Unreachable, match="https://"):
            hub.overview()
    with running(tmp_path / "hub") as (_, address):
        secure = address.replace("http", "https")
        with Client(secure, "a.b") as hub, pytest.raises(Unreachable, match="begins with http://"):
            hub.overview()


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_ca_that_can_not_be_read_is_wrong_usage(tmp_path, content):
    """A missing, empty or other file: exit code 2, and its name."""
    path = tmp_path / "odd.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(WrongAddress, match="odd"):
        Client("https://127.0.0.1:1", "a.b", ca=str(path))

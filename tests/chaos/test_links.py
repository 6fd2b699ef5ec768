"""Links: what each way of breaking does to requests and answers."""

import contextlib
import socket
import threading

import pytest

from tests.chaos.links import Links
from tests.e2e.running import until

_SOON_S = 5


class Echo:
    """A server that keeps what it was sent and answers each line in capitals."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while line := connection.recv(100):
                self.heard.append(line)
                connection.sendall(line.upper())

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(_SOON_S)


@pytest.fixture
def echo():
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def links():
    with Links() as opened:
        yield opened


@contextlib.contextmanager
def client(links, echo):
    """A connection through link "one", with the link's port."""
    port = links.open("one", echo.port, tls=False)
    with socket.create_connection(("127.0.0.1", port), timeout=_SOON_S) as connection:
        yield connection


def test_a_whole_link_passes_both_ways(links, echo):
    """Requests arrive and answers come back as they were sent."""
    with client(links, echo) as one:
        one.sendall(b"hello")
        assert one.recv(100) == b"HELLO"


def test_a_cut_link_ends_connections(links, echo):
    """An open connection ends without an answer."""
    with client(links, echo) as one:
        one.sendall(b"hello")
        one.recv(100)
        links.set("one", "cut")
        with contextlib.suppress(ConnectionResetError):
            assert one.recv(100) == b""


def test_a_request_held_by_a_hanging_link_lands_when_it_wakes(links, echo):
    """It lands although whoever sent it has given up meanwhile."""
    with client(links, echo) as one:
        links.set("one", "hang")
        one.sendall(b"create")
        until(lambda: links.held("one"), _SOON_S, "it is held")
    assert echo.heard == []
    links.heal()
    until(lambda: echo.heard == [b"create"], _SOON_S, "it has landed")


def test_a_mute_link_holds_the_answer_only(links, echo):
    """The request lands at once, the answer comes when the link is whole again."""
    with client(links, echo) as one:
        links.set("one", "mute")
        one.sendall(b"create")
        until(lambda: echo.heard == [b"create"], _SOON_S, "it has landed")
        links.heal()
        assert one.recv(100) == b"CREATE"


def test_a_losing_link_ends_instead_of_answering(links, echo):
    """The request lands, the connection ends without an answer."""
    with client(links, echo) as one:
        links.set("one", "lose")
        one.sendall(b"create")
        with contextlib.suppress(ConnectionResetError):
            assert one.recv(100) == b""
        assert echo.heard == [b"create"]

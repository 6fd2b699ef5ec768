"""Where a hub listens, alone or beside others of its machine."""

import contextlib
import socket

import pytest

from hub import listening
from hub.folder import Misconfigured


def _port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


def test_a_hub_that_starts_takes_no_connection_from_one_that_answers():
    """Two share a port and one of them has not started: every connection is the other's."""
    address = f"127.0.0.1:{_port()}"
    with (
        listening.bound(address, shared=True) as started,
        listening.bound(address, shared=True) as starting,
        contextlib.ExitStack() as held,
    ):
        started.listen(listening.BACKLOG)
        for _ in range(40):
            held.enter_context(socket.create_connection(started.getsockname(), timeout=5))
            connection, _ = started.accept()
            held.enter_context(connection)
        starting.listen(listening.BACKLOG)


def test_a_port_that_another_has_is_refused():
    """In one line, whichever way it was asked for."""
    with listening.bound("127.0.0.1:0", shared=False) as held:
        address = "{}:{}".format(*held.getsockname())
        for shared in (False, True):
            with pytest.raises(Misconfigured, match=address):
                listening.bound(address, shared=shared)


@pytest.mark.parametrize("address", ["8080", "localhost:", "localhost:http"])
def test_what_is_no_address_is_refused(address):
    """HOST:PORT is expected."""
    with pytest.raises(Misconfigured, match="HOST:PORT"):
        listening.bound(address, shared=False)

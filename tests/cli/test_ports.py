"""Ports for what is started in a moment."""

import socket

from roadstead.cli import ports


def test_free_ports_can_be_listened_on():
    """They are different, and nobody listens there."""
    found = ports.free(5)
    assert len(set(found)) == 5
    assert not any(ports.why_taken("127.0.0.1", port) for port in found)


def test_no_connection_takes_a_free_port():
    """They lie below those that the kernel gives to connections and to whoever asks for any."""
    with socket.socket() as anybody:
        anybody.bind(("127.0.0.1", 0))
        assert all(port < anybody.getsockname()[1] for port in ports.free(5))

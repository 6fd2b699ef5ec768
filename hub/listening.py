"""The socket that a hub listens on, alone or beside other hubs of this machine."""

import socket
from typing import Final

from hub.folder import Misconfigured

BACKLOG: Final = 2048
MOST_URL: Final = 128


def bound(address: str, *, shared: bool) -> socket.socket:
    """A socket at HOST:PORT. Raises Misconfigured.

    `shared`: others may listen at that port too. It does not listen itself yet: the kernel would deal it
    connections that another hub could answer, and they would wait until this one has started.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise Misconfigured(f"--listen {address}: expected HOST:PORT")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if not shared:
            return socket.create_server((host, int(port)), family=family, backlog=BACKLOG)
        return _bound((host, int(port)), family)
    except OSError as error:
        raise Misconfigured(f"--listen {address}: {error.strerror}") from error


def address_of(listener: socket.socket) -> str:
    """HOST:PORT of a socket, as it stands in a URL."""
    host, port = listener.getsockname()[:2]
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def reached_at(given: str, own: socket.socket | None, scheme: str) -> str:
    """The URL at which other replicas reach this process: the one given, else that of its own socket.

    "" where there is neither. Raises Misconfigured.
    """
    url = given.rstrip("/")
    if not url and own is not None:
        url = f"{scheme}://{address_of(own)}"
    if url and (len(url) > MOST_URL or not url.startswith(("http://", "https://"))):
        raise Misconfigured(
            f"--advertise {url}: expected http://HOST:PORT, {MOST_URL} characters at most"
        )
    return url


def _bound(address: tuple[str, int], family: socket.AddressFamily) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            made.setsockopt(socket.SOL_SOCKET, option, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made

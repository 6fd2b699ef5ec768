"""TCP ports of this machine: find free ones, and check whether one can be listened on."""

import contextlib
import errno
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

_LOOPBACK = "127.0.0.1"
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_FIRST = 32768
_LEAST, _MANY = 1024, 16000  # number of candidates below the first connection port


@dataclass(frozen=True)
class Taken:
    """The reason why an address cannot be listened on; `is_for_good` if another port would not help."""

    reason: str
    is_for_good: bool

    def __str__(self) -> str:
        return self.reason


def free(count: int) -> list[int]:
    """Return different free ports.

    They lie outside the kernel's range for outgoing connections, so that no new connection takes one before
    you listen. Raises OSError if there are too few.
    """
    first = _first_of_connections()
    candidates = range(max(_LEAST, first - _MANY), first)
    found: list[int] = []
    with contextlib.ExitStack() as held:
        for port in secrets.SystemRandom().sample(candidates, len(candidates)):
            if len(found) == count:
                return found
            probe = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind((_LOOPBACK, port))
                found.append(port)
    raise OSError(errno.EADDRINUSE, f"no {count} free ports below {first}")


def _first_of_connections() -> int:
    """The first port of the kernel's range for outgoing connections (Linux's ip_local_port_range)."""
    try:
        return int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _USUAL_FIRST


def why_taken(host: str, port: int) -> Taken | None:
    """Return the reason why this address cannot be listened on now; None if it can."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as failure:
        in_use = failure.errno == errno.EADDRINUSE
        words = "the port is in use" if in_use else failure.strerror or str(failure)
        return Taken(words, not in_use)
    return None


def answers(host: str, port: int) -> bool:
    """Return whether a process listens on this address."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((host, port)) == 0

"""TCP ports of this machine: free ones, and whether one can be listened on."""

import contextlib
import errno
import socket
from dataclasses import dataclass

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Taken:
    """Why an address can not be listened on; `is_for_good` if another port would not help."""

    reason: str
    is_for_good: bool

    def __str__(self) -> str:
        return self.reason


def free(count: int) -> list[int]:
    """So many different ports that nobody listens on."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((_LOOPBACK, 0))
        return [probe.getsockname()[1] for probe in probes]


def why_taken(host: str, port: int) -> Taken | None:
    """Why nobody can listen on this address now; None if one can."""
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
    """Whether somebody listens on this address."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((host, port)) == 0

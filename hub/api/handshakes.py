"""TLS on the hub's connections: counted from when they are accepted, agreed in bounded time.

The server alone would do the TLS handshake before a connection is counted, within a minute, and with the
certificate that it started with. Here a connection counts at once, ends when its handshake is late, and
takes
the certificates that are in force when it comes (`Trust`).
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import structlog

from hub.api.measures import HANDSHAKES
from hub.services.access.budgets import network_of

if TYPE_CHECKING:
    from hub.api.connections import BoundedProtocol, Door

_CLOSE_S: Final = 2.0  # for the other side's farewell
_REST_S: Final = 1.0  # if the process has no free file descriptors
_logger = structlog.get_logger(__name__)


class Trust(Protocol):
    """The files of the certificates in force; `generation` grows when others are taken."""

    generation: int

    @property
    def context(self) -> ssl.SSLContext:
        """The TLS parameters of a new connection."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client's certificate, which was checked against the CA of clients."""

    names: frozenset[str]  # DNS names of subjectAltName, else the common name (RFC 6125)
    ends_at: float  # seconds since the epoch


def read_client(transport: Any) -> ClientCertificate | None:
    """The certificate that the other side of a connection showed; None without any, and without TLS."""
    agreed = transport.get_extra_info("ssl_object")
    told: dict[str, Any] = (agreed.getpeercert() if agreed is not None else None) or {}
    if not told:
        return None
    names = {name for kind, name in told.get("subjectAltName", ()) if kind == "DNS"}
    common = {name for part in told["subject"] for kind, name in part if kind == "commonName"}
    return ClientCertificate(
        frozenset(names or common), ssl.cert_time_to_seconds(told["notAfter"])
    )


class Handshake:
    """An accepted connection until TLS is agreed; then its protocol has it."""

    def __init__(self, since: float, within_s: float) -> None:
        self._since, self._within_s = since, within_s
        self.agreeing: asyncio.Task[None] | None = None

    def end_if_late(self, now: float) -> None:
        """Disconnect a client whose handshake fails."""
        if self.agreeing is not None and now - self._since >= self._within_s:
            self.agreeing.cancel()


class SecureListener:
    """Accepts connections of a listening socket and agrees on TLS with each."""

    def __init__(
        self,
        door: "Door",
        trust: Trust,
        listener: socket.socket,
        make: Callable[[], "BoundedProtocol"],
    ) -> None:
        self._door, self._trust, self._listener, self._make = door, trust, listener, make

    async def run(self) -> None:
        """Accept until cancelled; beyond the maximum, disconnect: nothing can be sent in clear."""
        self._listener.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    connection, address = await loop.sock_accept(self._listener)
                except OSError as error:  # no free descriptors, or gone before it was accepted
                    _logger.warning("connection not accepted", error=str(error))
                    await self._door.clock.sleep(_REST_S)
                    continue
                network = network_of(str(address[0]))
                if self._door.is_full(network):
                    HANDSHAKES.labels("too_many").inc()
                    connection.close()
                    continue
                self._begin(connection, network)
        finally:
            for handshake in self._door.handshakes:
                if handshake.agreeing is not None:
                    handshake.agreeing.cancel()

    def _begin(self, connection: socket.socket, network: str) -> None:
        handshake = Handshake(self._door.clock.monotonic(), self._door.limits.receive_s)

        def end(_: asyncio.Task[None]) -> None:
            self._door.handshakes.discard(handshake)
            self._door.leave(network)  # what was agreed counts as a connection by now

        self._door.handshakes.add(handshake)
        self._door.enter(network)
        handshake.agreeing = asyncio.get_running_loop().create_task(self._agree(connection))
        handshake.agreeing.add_done_callback(end)

    async def _agree(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self._trust.context,
                ssl_handshake_timeout=2 * self._door.limits.receive_s,  # `end_if_late` comes first
                ssl_shutdown_timeout=_CLOSE_S,
            )
        except asyncio.CancelledError:
            HANDSHAKES.labels("late").inc()
            raise
        except OSError:  # no TLS, no common version, no certificate that is believed, or gone
            HANDSHAKES.labels("failed").inc()
        else:
            HANDSHAKES.labels("agreed").inc()

    def _protocol(self) -> "BoundedProtocol":
        made = self._make()
        made.generation = self._trust.generation
        return made

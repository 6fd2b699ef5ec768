"""Trust between agent and hub: CAs, pins and the agent's own certificate.

In this order: the CA file it is given; the CA that it kept beside its credential; pins, given or in the join
token, for which it asks the hub for the CA and believes what is pinned alone; else the machine's authorities.
Files are read again when they change.
"""

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson
import structlog

from agent.hub.credential import write_private
from shared.wire import versions
from shared.wire.agent_v1 import CA_PATH

_LARGEST: Final = 128 << 10
_ANSWER_S: Final = 15.0
_Signature = tuple[tuple[int, int, int] | None, ...]
log = structlog.get_logger(__name__)


class Untrusted(Exception):
    """The server is not the hub that this agent was configured for."""


@dataclass(frozen=True, slots=True)
class Link:
    """One agent's link to one hub. `kept`: where the CA stays that was found by its pin."""

    url: str
    kept: Path
    ca: Path | None = None
    pins: tuple[str, ...] = ()
    client_cert: Path | None = None
    client_key: Path | None = None
    plain_http: bool = False  # a setting declares the connection safe
    transport: httpx.AsyncBaseTransport | None = field(default=None, repr=False)

    @property
    def is_secure(self) -> bool:
        """True if the connection to the hub uses TLS."""
        return self.url.startswith("https://")

    def told(self) -> dict[str, str]:
        """The note for people that the connection is insecure."""
        host = urlsplit(self.url).hostname or ""
        is_plain = self.plain_http and not self.is_secure and not is_own_machine(host)
        return {versions.LINK_HEADER: versions.PLAIN_HTTP} if is_plain else {}

    def signature(self) -> _Signature:
        """By what a change of the files is noticed."""
        return tuple(
            _stat(each) for each in (self.ca, self.kept, self.client_cert, self.client_key)
        )

    def context(self) -> ssl.SSLContext | bool:
        """The TLS parameters of connections. Raises OSError, ValueError.

        Without TLS no trust store is read: that costs a start-up half a second of CPU.
        """
        if not self.is_secure:
            return False
        context = self._trusting()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.client_cert is not None:
            context.load_cert_chain(self.client_cert, self.client_key, password=_no_password)
        return context

    async def find_authority(self, pins: Sequence[str]) -> None:
        """See that the CA is there that these pins, of a join token, or those given, are of.

        Raises Untrusted where what answers is another, httpx.HTTPError where nothing does, OSError.
        """
        wanted = self.pins or tuple(pins)
        if not wanted or self.ca is not None:
            return
        if not self.is_secure:
            if self.plain_http:
                return
            raise Untrusted(f"the join token is of a hub that speaks TLS, and --hub is {self.url}")
        if self._kept(wanted):
            return
        found = _select(await self._ask(), wanted)
        if not found:
            raise Untrusted(f"{self.url} has another CA than the pinned one")
        self.keep(found.decode())

    def keep(self, pem: str) -> None:
        """From now on believe this CA; the hub itself, believed, has told it. Raises OSError."""
        if self.ca is None and self.is_secure and pem != _read(self.kept):
            write_private(self.kept, pem.encode())
            log.info("hub.authority", kept=str(self.kept))

    def _trusting(self) -> ssl.SSLContext:
        """A context that believes the right authorities, and no others."""
        if self.ca is not None:
            return _anchored(self.ca.read_text())
        kept = self._kept(self.pins)
        return _anchored(kept) if kept else httpx.create_ssl_context()

    def _kept(self, pins: Sequence[str]) -> str:
        """The stored CA, as far as it is pinned, if pins are given; "" if there is none."""
        kept = _read(self.kept)
        return _select(kept.encode(), pins).decode() if kept and pins else kept

    async def _ask(self) -> bytes:
        """The CA that the server claims to be the hub's. Nothing of ours is sent."""
        blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        blind.check_hostname = False
        blind.verify_mode = ssl.CERT_NONE  # what comes is believed for its pin alone
        async with (
            httpx.AsyncClient(verify=blind, transport=self.transport, timeout=_ANSWER_S) as http,
            http.stream("GET", self.url.rstrip("/") + CA_PATH) as answer,
        ):
            read = b""
            async for part in answer.aiter_bytes():
                read += part
                if len(read) > _LARGEST:
                    raise Untrusted(f"{self.url} sends more than a CA")
        try:
            told: Any = orjson.loads(read)
            return str(told["ca"]).encode() if answer.status_code == httpx.codes.OK else b""
        except (orjson.JSONDecodeError, KeyError, TypeError) as fault:
            raise Untrusted(f"{self.url} does not answer like a hub") from fault


def _anchored(pem: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=pem)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # what is trusted may be no root
    return context


def _select(pem: bytes, pins: Sequence[str]) -> bytes:
    from shared.certificates import select_pinned  # noqa: PLC0415 - 10 MB that few agents need

    try:
        return select_pinned(pem, pins)
    except ValueError:  # no certificates
        return b""


def _no_password() -> str:
    """No user is there to be asked."""
    raise ValueError("the key of --client-cert is encrypted; give it in clear")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _stat(path: Path | None) -> tuple[int, int, int] | None:
    try:
        found = path.stat() if path is not None else None
    except OSError:
        found = None
    return found and (found.st_ino, found.st_size, found.st_mtime_ns)


def is_own_machine(host: str) -> bool:
    """True if this address never leaves the machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified

"""The hub's certificates: read from files, read again when they change, refused where they are no pair.

    --tls-cert FILE --tls-key FILE [--tls-client-ca FILE] [--tls-ca FILE]

Each has a variable, such as ROADSTEAD_TLS_CERT. Files may be a Secret that is mounted: it changes by one
swap of a symbolic link. What can not be used is refused, told and counted, and the earlier ones stay.
"""

import argparse
import asyncio
import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import structlog
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from hub.api.measures import CERTIFICATE_DAYS, CERTIFICATE_LOADS
from hub.folder import Misconfigured
from hub.services.access.authority import Authority
from hub.services.context.settings import Settings, Tls
from shared import certificates
from shared.clock import Clock

LOOK_S: Final = 10.0  # between two looks whether files have changed
# Of TLS 1.2; those of 1.3 are all good. Forward secrecy and authenticated encryption only.
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
_CA_BESIDE: Final = "ca.crt"  # as a Secret of type kubernetes.io/tls has it from cert-manager
_LARGEST_CA: Final = 64 << 10
_logger = structlog.get_logger(__name__)
_Signature = tuple[tuple[int, int, int, int] | None, ...]


class _Unusable(Exception):
    """What is wrong with the files, in words."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Certificates in force."""

    context: ssl.SSLContext | None  # None: somebody else ends TLS; only the authority is known
    authority: Authority
    ends: tuple[tuple[str, x509.Certificate], ...]
    signature: _Signature


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags; what they leave open is taken from the environment."""
    add = parser.add_argument
    add("--tls-cert", metavar="FILE", help="certificate chain to serve TLS with, PEM")
    add("--tls-key", metavar="FILE", help="its key, PEM")
    add("--tls-client-ca", metavar="FILE", help="CA of agents' certificates; they must have one")
    add(
        "--tls-ca", metavar="FILE", help="CA that join tokens pin; default: ca.crt, or the chain's"
    )


def with_arguments(settings: Settings, arguments: argparse.Namespace) -> Settings:
    """The settings as the command line changes them. Raises Misconfigured."""
    given = {
        name: value
        for name in ("cert", "key", "client_ca", "ca")
        if (value := getattr(arguments, f"tls_{name}")) is not None
    }
    chosen = replace(settings.tls, **given)
    if bool(chosen.cert) != bool(chosen.key):
        raise Misconfigured("--tls-cert and --tls-key belong together")
    if chosen.client_ca and not chosen.cert:
        raise Misconfigured("--tls-client-ca needs --tls-cert and --tls-key")
    return replace(settings, tls=chosen)


class Certificates:
    """The certificates in force. Raises Misconfigured where the first ones can not be used."""

    def __init__(self, chosen: Tls, clock: Clock) -> None:
        self._chosen, self._clock = chosen, clock
        self._told: tuple[_Signature, str] | None = None
        self.generation = 1
        try:
            self._loaded = _load(chosen)
        except _Unusable as wrong:
            raise Misconfigured(str(wrong)) from wrong
        self._publish()

    @property
    def context(self) -> ssl.SSLContext:
        """What new connections are agreed with."""
        assert self._loaded.context is not None
        return self._loaded.context

    @property
    def serves_tls(self) -> bool:
        """Whether the hub speaks TLS itself."""
        return self._loaded.context is not None

    @property
    def authority(self) -> Authority:
        """What agents are to trust."""
        return self._loaded.authority

    def of_peers(self) -> tuple[ssl.SSLContext, str]:
        """What other replicas' certificates are believed by, and the name that those are made out to.

        They show the same certificate as this process, at an address that it is not made out to.
        """
        if not self.serves_tls:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ""  # never used
        pem = self.authority.pem
        trust = ssl.create_default_context(cadata=pem) if pem else ssl.create_default_context()
        return trust, _name_of(self._loaded.ends[0][1])

    def look(self) -> None:
        """Take what has changed in the files; keep what there is where it can not be used."""
        signature = _signature(self._chosen)
        if signature == self._loaded.signature:
            return
        try:
            loaded = _load(self._chosen)
        except _Unusable as wrong:
            self._refuse(signature, str(wrong))
            return
        self._loaded = loaded
        self.generation += 1
        self._publish()
        CERTIFICATE_LOADS.labels("taken").inc()
        _logger.info(
            "certificate taken", **{name: str(c.not_valid_after_utc) for name, c in loaded.ends}
        )

    async def run(self) -> None:
        """Look again and again, beside the event loop: a file system may hang."""
        while True:
            await self._clock.sleep(LOOK_S)
            await asyncio.to_thread(self.look)

    def _refuse(self, signature: _Signature, why: str) -> None:
        """Say so, once for each state of the files."""
        if self._told != (signature, why):
            self._told = signature, why
            CERTIFICATE_LOADS.labels("refused").inc()
            _logger.error("certificate refused", error=why, meaning="the earlier one stays")

    def _publish(self) -> None:
        for name, certificate in self._loaded.ends:
            CERTIFICATE_DAYS.labels(name).set_function(self._days_of(certificate))

    def _days_of(self, certificate: x509.Certificate) -> "_Days":
        return _Days(certificate, self._clock)


def _name_of(certificate: x509.Certificate) -> str:
    """The first name of a host that a certificate is made out to; "" where there is none."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ""
    return next(iter(found.value.get_values_for_type(x509.DNSName)), "").replace("*", "any")


@dataclass(frozen=True, slots=True)
class _Days:
    """The days that a certificate has left, whenever it is asked for."""

    certificate: x509.Certificate
    clock: Clock

    def __call__(self) -> float:
        return certificates.days_left(self.certificate, self.clock.now())


def _load(chosen: Tls) -> _Loaded:
    """Read all files as of one moment. Raises _Unusable."""
    for _ in range(3):
        signature = _signature(chosen)
        loaded = _load_once(chosen, signature)
        if _signature(chosen) == signature:  # else they were swapped between two reads
            return loaded
    raise _Unusable("the certificate files keep changing")


def _load_once(chosen: Tls, signature: _Signature) -> _Loaded:
    if not chosen.cert:
        return _Loaded(None, _authority(chosen, []), (), signature)
    chain = _certificates(chosen.cert, "--tls-cert")
    ends = [("server", chain[0])]
    context = _context(chosen)
    if chosen.client_ca:
        _require_clients(context, chosen.client_ca)
        of_clients = _certificates(chosen.client_ca, "--tls-client-ca")
        ends.append(("client-ca", min(of_clients, key=lambda each: each.not_valid_after_utc)))
    return _Loaded(context, _authority(chosen, chain), tuple(ends), signature)


def _context(chosen: Tls) -> ssl.SSLContext:
    """A context of its own for every pair: what fails half-way harms none in use."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(chosen.cert, chosen.key, password=_no_password)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = getattr(error, "reason", None) or error.args[-1]
        raise _Unusable(f"{chosen.cert} and {chosen.key} are no pair to serve: {why}") from error
    return context


def _no_password() -> str:
    """Nobody sits there to be asked."""
    raise ValueError("the key is encrypted; give it in clear, in a file that only the hub reads")


def _require_clients(context: ssl.SSLContext, path: str) -> None:
    """Ask for certificates of clients. Whoever shows none is a person, or refused by the agents' routes."""
    try:
        context.load_verify_locations(cafile=path)
    except OSError as error:
        raise _Unusable(f"--tls-client-ca {path}: {error.strerror or error}") from error
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _authority(chosen: Tls, chain: list[x509.Certificate]) -> Authority:
    """What agents are to trust; nothing where the machine's own authorities will do."""
    if chosen.ca:
        named = _certificates(chosen.ca, "--tls-ca")
        return _authority_of(b"".join(each.public_bytes(Encoding.PEM) for each in named))
    if not chain:
        return Authority()
    beside = Path(chosen.cert).with_name(_CA_BESIDE)
    try:
        given = beside.read_bytes()  # whole: there may be the next CA too
        found = given if given.strip() and certificates.is_of(chain, given) else b""
    except FileNotFoundError:
        found = b""
    except (OSError, ValueError) as error:
        raise _Unusable(f"{beside}: {error}") from error
    return _authority_of(found or certificates.own_root(chain))


def _authority_of(bundle: bytes) -> Authority:
    """Of the certificates of a bundle that can be read: whatever else is in it is left out."""
    found = certificates.read_certificates(bundle) if bundle else []
    pem = b"".join(each.public_bytes(Encoding.PEM) for each in found)
    if len(pem) > _LARGEST_CA:
        raise _Unusable(f"the CA bundle is larger than {_LARGEST_CA} bytes")
    return Authority(pem.decode(), tuple(dict.fromkeys(map(certificates.pin_of, found))))


def _certificates(path: str, flag: str) -> list[x509.Certificate]:
    try:
        return certificates.read_certificates(Path(path).read_bytes())
    except OSError as error:
        raise _Unusable(f"{flag} {path}: {error.strerror}") from error
    except ValueError as error:
        raise _Unusable(f"{flag} {path}: no certificate in PEM can be read there") from error


def _signature(chosen: Tls) -> _Signature:
    """By what a change of the files is noticed: the file that a path leads to, its size and its time."""
    beside = str(Path(chosen.cert).with_name(_CA_BESIDE)) if chosen.cert else ""
    paths = (chosen.cert, chosen.key, chosen.client_ca, chosen.ca or beside)
    return tuple(_stat(path) for path in paths)


def _stat(path: str) -> tuple[int, int, int, int] | None:
    try:
        found = Path(path).stat() if path else None
    except OSError:
        found = None
    return found and (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

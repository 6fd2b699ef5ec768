"""Certificates for tests: an authority, and what it signs, as files."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from shared.clock import SystemClock

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
LOOPBACK = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Pair:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


class CA:
    """An authority that signs; `again` is a certificate of its own for the same key."""

    def __init__(
        self,
        name: str = "test-ca",
        key: Key | None = None,
        *,
        names: Sequence[str] = (),
        days: tuple[float, float] = (-1, 30),
    ) -> None:
        self.name = name
        key = key or ec.generate_private_key(ec.SECP256R1())
        self.pair = Pair(_signed(name, names, key, None, days=days, is_ca=True), key)

    @property
    def pem(self) -> bytes:
        return self.pair.pem

    def again(self) -> "CA":
        return CA(self.name, self.pair.key)

    def lower(self, name: str) -> "CA":
        """An authority that this one has signed."""
        made = CA(name)
        signed = _signed(name, (), made.pair.key, self.pair, days=(-1, 30), is_ca=True)
        made.pair = Pair(signed, made.pair.key)
        return made

    def sign(
        self,
        names: Sequence[str] = LOOPBACK,
        *,
        common_name: str = "",
        days: tuple[float, float] = (-1, 30),
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        return Pair(_signed(common_name, names, key, self.pair, days=days), key)


def write(folder: Path, pair: Pair, *chain: bytes, ca: bytes | None = None) -> tuple[Path, Path]:
    """`tls.crt` and `tls.key` (and `ca.crt`) in a folder, as a Secret of Kubernetes has them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tls.key").write_bytes(pair.key_pem)
    (folder / "tls.crt").write_bytes(b"".join((pair.pem, *chain)))
    if ca is not None:
        (folder / "ca.crt").write_bytes(ca)
    return folder / "tls.crt", folder / "tls.key"


def _signed(
    common_name: str,
    names: Sequence[str],
    key: Key,
    issuer: Pair | None,
    *,
    days: tuple[float, float],
    is_ca: bool = False,
) -> x509.Certificate:
    now = SystemClock().now()
    subject = _name(common_name)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + dt.timedelta(days=days[0]))
        .not_valid_after(now + dt.timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    )
    if names:
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
        builder = builder.add_extension(alternatives, critical=False)
    return builder.sign(key if issuer is None else issuer.key, hashes.SHA256())


def _name(common_name: str) -> x509.Name:
    if not common_name:
        return x509.Name([])
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)

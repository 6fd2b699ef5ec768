"""The certificates of a simulated cluster: a separate CA and a serving certificate for loopback."""

import datetime as dt
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files; `ca_pem` is what clients trust."""

    ca_pem: bytes
    certificate: Path
    key: Path


def ensure_certificates(folder: Path, name: str, now: dt.datetime) -> Certificates:
    """Make the certificates of a cluster once; afterwards the kept ones are used."""
    folder.mkdir(parents=True, exist_ok=True)
    ca, certificate, key = folder / "ca.crt", folder / "server.crt", folder / "server.key"
    if not (ca.exists() and certificate.exists() and key.exists()):
        _make(ca, certificate, key, name, now)
    return Certificates(ca.read_bytes(), certificate, key)


def _make(ca: Path, certificate: Path, key: Path, name: str, now: dt.datetime) -> None:
    ca_key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"kubesim-ca {name}"[:64])])
    start, end = now - dt.timedelta(days=1), now + dt.timedelta(days=_VALID_DAYS)
    authority = (
        x509.CertificateBuilder()
        .subject_name(issuer)
        .issuer_name(issuer)
        .public_key(ca_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False
        )
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    server_key = ec.generate_private_key(ec.SECP256R1())
    names = [
        x509.DNSName("localhost"),
        x509.DNSName("kubernetes"),
        x509.DNSName("kubernetes.default.svc"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("::1")),
    ]
    server = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))
        .issuer_name(issuer)
        .public_key(server_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        .add_extension(_usage(signs_certificates=False), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    private = server_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    # The CA comes last: it marks the set as complete.
    write_private(key, private)
    certificate.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    ca.write_bytes(authority.public_bytes(serialization.Encoding.PEM))


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)

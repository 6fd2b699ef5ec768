"""Certificates as files hold them: when they end, who signed them, and pins of their keys.

A pin is the SHA-256 of a certificate's SubjectPublicKeyInfo, as in RFC 7469, in URL-safe base64
without padding: it stays the same when a certificate is renewed with its key.
"""

import base64
import datetime as dt
import hashlib
from collections.abc import Collection, Sequence

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PIN_LENGTH = 43  # characters


def read_certificates(pem: bytes) -> list[x509.Certificate]:
    """The certificates of a PEM text, in its order. Raises ValueError if there is none."""
    return x509.load_pem_x509_certificates(pem)


def pin_of(certificate: x509.Certificate) -> str:
    """The pin of one certificate's key."""
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.urlsafe_b64encode(hashlib.sha256(key).digest()).rstrip(b"=").decode()


def select_pinned(pem: bytes, pins: Collection[str]) -> bytes:
    """Those certificates of a bundle whose keys are pinned, as PEM; b"" if none is. Raises ValueError."""
    found = [each for each in read_certificates(pem) if pin_of(each) in pins]
    return b"".join(each.public_bytes(Encoding.PEM) for each in found)


def is_of(chain: Sequence[x509.Certificate], bundle: bytes) -> bool:
    """True if a bundle of authorities has one that signed some certificate of the chain."""
    return any(
        each in chain or any(_signed(each, lower) for lower in chain)
        for each in read_certificates(bundle)
    )


def own_root(chain: Sequence[x509.Certificate]) -> bytes:
    """The last certificate of a chain if it signed itself, as PEM, else b"": a chain of a private CA."""
    last = chain[-1]
    return last.public_bytes(Encoding.PEM) if _signed(last, last) else b""


def days_left(certificate: x509.Certificate, now: dt.datetime) -> float:
    """Days until the certificate ends; negative once it has."""
    return (certificate.not_valid_after_utc - now) / dt.timedelta(days=1)


def _signed(issuer: x509.Certificate, subject: x509.Certificate) -> bool:
    try:
        subject.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True

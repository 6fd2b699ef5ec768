"""How the hub processes of one store know each other's requests: sealed with a key that they all read there.

The key is made from the one that signs pages and is told to nobody. A seal is of one body, at one instant:
whoever sees it can make nothing else of it, and not for long.
"""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from typing import Final

from hub.services.access.credentials import UNAUTHENTICATED
from shared.errors import Rejected
from shared.reject_codes import RejectCode

SCHEME: Final = "Roadstead-Peer"
_GOOD_FOR_S: Final = 30.0
_REMEMBERED: Final = 5000


class PeerSeal:
    """Makes seals and checks them, each once. Instants are seconds of the clock that all processes share."""

    def __init__(self, page_key: bytes) -> None:
        self._key = hashlib.blake2b(b"hubs of one store", key=page_key, digest_size=32).digest()
        self._seen: OrderedDict[str, None] = OrderedDict()

    def authorization(self, body: bytes, now: float) -> str:
        """The header by which a request with this body is believed."""
        given = f"{now:.3f}.{secrets.token_hex(8)}"
        return f"{SCHEME} {given}.{self._mac(given, body)}"

    def check(self, header: str, body: bytes, now: float) -> None:
        """Raises Rejected: Unauthenticated, unless a process of this store has sealed it just now."""
        scheme, _, seal = header.partition(" ")
        given, _, mac = seal.rpartition(".")
        good = scheme == SCHEME and hmac.compare_digest(
            mac.encode(errors="replace"), self._mac(given, body).encode()
        )
        if (
            not good
            or abs(now - float(given.rpartition(".")[0])) > _GOOD_FOR_S
            or given in self._seen
        ):
            raise Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED)
        self._seen[given] = None
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def _mac(self, given: str, body: bytes) -> str:
        text = given.encode(errors="replace") + b"\n" + body
        return hashlib.blake2b(text, key=self._key, digest_size=32).hexdigest()

"""Seals by which the hub processes of one store authenticate each other's requests and answers.

Both sides derive one key from the key that seals pages, which never leaves the store. A seal covers one body,
one instant and the process that is to receive it: another process refuses it, and so does the same one a
second time. Each line of the answer is sealed for that request, in order.
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


class AnswerSeal:
    """Seals the lines of one answer, or opens them: each side has one, and counts."""

    def __init__(self, key: bytes, request: str) -> None:
        text = b"answer\n" + request.encode(errors="replace")
        self._key = hashlib.blake2b(text, key=key, digest_size=32).digest()
        self._number = 0

    def seal(self, line: bytes) -> bytes:
        """The line as it is sent."""
        return self._next(line) + b" " + line

    def open(self, sealed: bytes) -> bytes:
        """The line that was sent. Raises Rejected: Unauthenticated, for any other line or order."""
        mac, _, line = sealed.partition(b" ")
        if not hmac.compare_digest(mac, self._next(line)):
            raise Rejected(RejectCode.UNAUTHENTICATED, "a line of the answer is not sealed for it")
        return line

    def _next(self, line: bytes) -> bytes:
        self._number += 1
        text = b"%d\n%b" % (self._number, line)
        return hashlib.blake2b(text, key=self._key, digest_size=32).hexdigest().encode()


class PeerSeal:
    """Makes seals and checks them, each once. Instants are seconds of the clock that all processes share."""

    def __init__(self, page_key: bytes) -> None:
        self._key = hashlib.blake2b(b"hubs of one store", key=page_key, digest_size=32).digest()
        self._seen: OrderedDict[str, None] = OrderedDict()

    def authorization(self, receiver: str, body: bytes, now: float) -> tuple[str, AnswerSeal]:
        """The header by which the process named `receiver` accepts this body, and what opens its answer."""
        given = f"{now:.3f}.{secrets.token_hex(8)}"
        header = f"{SCHEME} {given}.{self._mac(given, receiver, body)}"
        return header, AnswerSeal(self._key, given)

    def check(self, header: str, receiver: str, body: bytes, now: float) -> AnswerSeal:
        """Return the seal of the answer.

        Raises Rejected: Unauthenticated, unless a process of this store has sealed the body for `receiver`
        within the last seconds.
        """
        scheme, _, seal = header.partition(" ")
        given, _, mac = seal.rpartition(".")
        good = scheme == SCHEME and hmac.compare_digest(
            mac.encode(errors="replace"), self._mac(given, receiver, body).encode()
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
        return AnswerSeal(self._key, given)

    def _mac(self, given: str, receiver: str, body: bytes) -> str:
        text = f"{given}\n{receiver}\n".encode(errors="replace") + body
        return hashlib.blake2b(text, key=self._key, digest_size=32).hexdigest()

"""Continue tokens: the position of a list. Sealed, bound to the caller and the query, short-lived.

A page may end at a row that its caller may not see (`hub.store.spans`): the position is encrypted
(AES-256-GCM, NIST SP 800-38D) as nonce, 12 bytes, then ciphertext and tag. Tokens that an earlier release
only signed are refused as those of another hub: they are kept for minutes.
"""

import base64
import binascii
import datetime as dt
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shared.documents import JsonView
from shared.errors import Rejected
from shared.reject_codes import RejectCode

# Stored bytes of rows after which a page ends, with the row that exceeds them: a page of 500 rows is no
# larger, whatever its rows hold. Clients go on with `continue`, which is not empty.
PAGE_BYTES: Final = 2 << 20
_NONCE_BYTES = 12
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Pager:
    """Makes and reads the tokens of one caller's list request."""

    key: bytes
    principal: str
    question: JsonView  # path and filters: a token continues only the same query
    now: dt.datetime
    kept: dt.timedelta

    def token(self, position: list[Any]) -> str:
        """The token that continues after `position`."""
        expires = int((self.now + self.kept).timestamp())
        body = orjson.dumps([position, expires, self.principal, self._question()])
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher().encrypt(nonce, body, None)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def position(self, token: str | None) -> list[Any] | None:
        """Position to continue from; None at the start. Raises Rejected: BadContinue (400), Expired (410)."""
        if not token:
            return None
        body = self._opened(token)
        position, expires, principal, question = orjson.loads(body)
        if principal != self.principal or question != self._question():
            raise _bad("it belongs to another list")
        if expires < self.now.timestamp():
            raise Rejected(
                RejectCode.EXPIRED, "the list is no longer kept; start it again", "continue"
            )
        assert isinstance(position, list)
        return position

    def _opened(self, token: str) -> bytes:
        if len(token) > _LONGEST:
            raise _bad("it is too long")
        try:
            whole = base64.urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4))
            nonce, sealed = whole[:_NONCE_BYTES], whole[_NONCE_BYTES:]
            return self._cipher().decrypt(nonce, sealed, None)
        except (binascii.Error, ValueError, InvalidTag):  # ValueError: not as long as a nonce
            raise _bad("it was not given by this hub") from None

    def _cipher(self) -> AESGCM:
        """Under a key of its own, made from the one that never leaves the store."""
        return AESGCM(hashlib.blake2b(b"continue tokens", key=self.key, digest_size=32).digest())

    def _question(self) -> str:
        asked = orjson.dumps(self.question, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(asked, digest_size=8).hexdigest()


def within(sizes: Sequence[int], most: int) -> tuple[int, int]:
    """The number of rows that fill a page of `most` bytes, and their bytes.

    The row that exceeds `most` is included: otherwise a list could not get past a large row.
    """
    size = 0
    for taken, each in enumerate(sizes):
        if size >= most:
            return taken, size
        size += each
    return len(sizes), size


def _bad(why: str) -> Rejected:
    return Rejected(
        RejectCode.BAD_CONTINUE, f"the continue token can not be used: {why}", "continue"
    )

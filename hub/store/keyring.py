"""Keys by which secrets are kept encrypted, and the form that they are kept in.

AES-256-GCM (NIST SP 800-38D) under the first key; every key that is known opens what it has closed. A
sealed value begins with a byte that no JSON begins with, so that one which is in clear yet is told from it:

    01 73 31 | key id, 8 bytes | nonce, 12 bytes | ciphertext and tag

The column's name is authenticated with it: a value that was moved to another column does not open. With
random nonces one key is good for 2^32 values; change it before (docs/howto/secrets.md).
"""

import base64
import binascii
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hub.store.errors import StoreUnavailable

KEY_BYTES: Final = 32
MOST_KEYS: Final = 16
PLAIN: Final = "plain"  # in the place of a key: values are in clear
_MARK: Final = b"\x01s1"
_ID: Final = slice(len(_MARK), len(_MARK) + 8)
_NONCE: Final = slice(_ID.stop, _ID.stop + 12)
_EMPTY: Final = frozenset({b"{}", b"[]", b"null", b""})  # nothing to hide


class WrongKeys(ValueError):
    """An invalid key file; the text names the line."""


class Sealed(StoreUnavailable):
    """A value that can not be opened: its key is not known here, or it was changed."""


class Keyring:
    """Keys in order: the first one closes. None among them: in clear."""

    def __init__(self, keys: Sequence[bytes | None] = ()) -> None:
        self._first = keys[0] if keys else None
        self._ciphers = {_id_of(key): AESGCM(key) for key in keys if key is not None}
        self._writes = b"" if self._first is None else _id_of(self._first)
        self._closes = self._ciphers.get(self._writes)

    @classmethod
    def read(cls, path: Path) -> "Keyring":
        """Of a key file. Raises WrongKeys, which names the file, and says nothing of what is in it."""
        try:
            return cls.parse(path.read_text("ascii"))
        except OSError as error:
            raise WrongKeys(f"--secrets-key {path}: {error.strerror}") from error
        except UnicodeDecodeError:
            raise WrongKeys(f"--secrets-key {path}: it is not ASCII") from None
        except WrongKeys as error:
            raise WrongKeys(f"--secrets-key {path}: {error}") from None

    @classmethod
    def parse(cls, text: str) -> "Keyring":
        """Of a key file: a key in base64 each line; empty lines and `#` are left out. Raises WrongKeys."""
        keys: list[bytes | None] = []
        for number, line in enumerate(text.splitlines(), 1):
            said = line.partition("#")[0].strip()
            if said:
                keys.append(None if said == PLAIN else _key(said, number))
        if not keys:
            raise WrongKeys("there is no key in it")
        if len(keys) > MOST_KEYS:
            raise WrongKeys(f"there are more than {MOST_KEYS} keys in it")
        if len(set(keys)) < len(keys):
            raise WrongKeys("a key is there twice")
        return cls(keys)

    @property
    def writes(self) -> str:
        """The id of the key that closes; "": what is written is in clear."""
        return self._writes.hex()

    def knows(self, key_id: str) -> bool:
        """True if the key of this id is among them."""
        return bytes.fromhex(key_id) in self._ciphers

    def __bool__(self) -> bool:
        """True if there is any key."""
        return bool(self._ciphers)

    def seal(self, body: bytes, place: str) -> bytes:
        """`body` as it is kept in the column `place`."""
        if self._closes is None or body in _EMPTY:
            return body
        nonce = os.urandom(12)
        closed = self._closes.encrypt(nonce, body, place.encode())
        return b"".join((_MARK, self._writes, nonce, closed))

    def unseal(self, kept: bytes, place: str) -> bytes:
        """The plain value, sealed or not. Raises Sealed."""
        if not kept.startswith(_MARK):
            return kept
        cipher = self._ciphers.get(bytes(kept[_ID]))
        if cipher is None:
            raise Sealed(
                f"{place} is encrypted with key {kept[_ID].hex()}, which is not known here"
            )
        try:
            return cipher.decrypt(bytes(kept[_NONCE]), bytes(kept[_NONCE.stop :]), place.encode())
        except InvalidTag:
            raise Sealed(
                f"{place} does not open with key {kept[_ID].hex()}: it was changed"
            ) from None

    def is_current(self, kept: bytes) -> bool:
        """True if it would be written the same today: under the first key, or in clear."""
        if not kept.startswith(_MARK):
            return self._closes is None or kept in _EMPTY
        return bytes(kept[_ID]) == self._writes


def is_sealed(kept: bytes) -> bool:
    """True if it is encrypted, under whatever key."""
    return kept.startswith(_MARK)


def _key(text: str, number: int) -> bytes:
    try:
        key = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (ValueError, binascii.Error):
        raise WrongKeys(f"line {number} is no base64") from None
    if len(key) != KEY_BYTES:
        raise WrongKeys(f"line {number} has {len(key)} bytes; a key has {KEY_BYTES}")
    return key


def _id_of(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=8, person=b"roadstead key id").digest()


NO_KEYS: Final = Keyring()

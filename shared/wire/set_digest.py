"""The digest by which hub and agent notice that their sets differ."""

import hashlib


class SetDigest:
    """Order-free digest of a set of lines, kept up to date by adding and removing lines.

    The sum modulo 2^128 of each line's 16-byte BLAKE2b: independent of order, O(1) per change.
    """

    __slots__ = ("_hex", "_sum")
    _MOD = 1 << 128

    def __init__(self) -> None:
        self._sum = 0
        self._hex: str | None = ""  # None: write it again

    @staticmethod
    def _hash(line: str) -> int:
        return int.from_bytes(hashlib.blake2b(line.encode(), digest_size=16).digest(), "big")

    def add(self, line: str) -> None:
        self._sum = (self._sum + self._hash(line)) % self._MOD
        self._hex = None

    def remove(self, line: str) -> None:
        self._sum = (self._sum - self._hash(line)) % self._MOD
        self._hex = None

    def hex(self) -> str:
        """32 hexadecimal digits; of the empty set, the empty string."""
        if self._hex is None:
            self._hex = f"{self._sum:032x}" if self._sum else ""
        return self._hex

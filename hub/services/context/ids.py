"""Identifiers that the hub gives: ordered by time, so that new rows lie together on disk."""

import datetime as dt
import os
import secrets
import threading

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own: no vowels, no look-alikes
_POOL_BYTES = 4096


class _RandomPool:
    """Random bytes of the system, fetched many at a time: each fetch lets other threads run first,
    which costs far more than the bytes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = b""
        self._used = 0

    def take(self, count: int) -> bytes:
        with self._lock:
            if self._used + count > len(self._bytes):
                self._bytes, self._used = os.urandom(_POOL_BYTES), 0
            taken = self._bytes[self._used : self._used + count]
            self._used += count
        return taken


_pool = _RandomPool()
if hasattr(os, "register_at_fork"):  # a child must not repeat its parent's numbers
    os.register_at_fork(after_in_child=_pool.__init__)  # type: ignore[misc]  # resets it in place


def new_uid(now: dt.datetime) -> str:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then random bits."""
    time = f"{int(now.timestamp() * 1000) & 0xFFFFFFFFFFFF:012x}"
    bits = _pool.take(10).hex()
    variant = "89ab"[int(bits[3], 16) & 0b11]
    return f"{time[:8]}-{time[8:]}-7{bits[:3]}-{variant}{bits[4:7]}-{bits[8:]}"


def request_id() -> str:
    """32 hexadecimal digits to find one request by; no secret."""
    return _pool.take(16).hex()


def generated_name(prefix: str) -> str:
    """A name from generateName: the prefix, cut as Kubernetes cuts it, and five characters."""
    return prefix[:58] + "".join(secrets.choice(_SUFFIX) for _ in range(5))

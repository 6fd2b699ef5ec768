"""Identifiers that the hub gives: ordered by time, so that new rows lie together on disk."""

import datetime as dt
import secrets
import uuid

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own: no vowels, no look-alikes


def new_uid(now: dt.datetime) -> str:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then random bits."""
    milliseconds = int(now.timestamp() * 1000) & ((1 << 48) - 1)
    random_bits = secrets.randbits(74)
    value = milliseconds << 80 | 0x7 << 76 | (random_bits >> 62) << 64
    value |= 0b10 << 62 | random_bits & ((1 << 62) - 1)
    return str(uuid.UUID(int=value))


def generated_name(prefix: str) -> str:
    """A name from generateName: the prefix, cut as Kubernetes cuts it, and five characters."""
    return prefix[:58] + "".join(secrets.choice(_SUFFIX) for _ in range(5))

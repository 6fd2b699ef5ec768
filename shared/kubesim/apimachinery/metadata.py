"""Server-written fields of `metadata`: names, uids, timestamps, and reading them back."""

import datetime as dt
import functools
import hashlib
import secrets
import uuid
from typing import Any

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words by accident
_SUFFIX_LENGTH = 5
_MAX_GENERATED_PREFIX = 63 - _SUFFIX_LENGTH

# Fields of metadata that a client's update cannot change.
UTC = dt.UTC
SERVER_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def generated_name(prefix: str) -> str:
    """`prefix` and five random characters, cut so that the whole stays a DNS label."""
    suffix = "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return prefix[:_MAX_GENERATED_PREFIX] + suffix


def new_uid() -> str:
    return str(uuid.uuid4())


def stamp(now: dt.datetime) -> str:
    """RFC 3339 in whole seconds, as `metav1.Time` is written."""
    return _stamp_of_second(int(now.timestamp()))


@functools.lru_cache(maxsize=64)  # a busy second is stamped thousands of times
def _stamp_of_second(second: int) -> str:
    return dt.datetime.fromtimestamp(second, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(now: dt.datetime) -> str:
    """RFC 3339 with microseconds, as `metav1.MicroTime` is written."""
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_stamp(text: str) -> dt.datetime:
    """The instant of an RFC 3339 stamp; ValueError when it is none."""
    instant = dt.datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)


def namespace_of(obj: dict[str, Any]) -> str:
    """The namespace, or "" for cluster-wide objects."""
    return obj["metadata"].get("namespace") or ""


def identity(obj: dict[str, Any]) -> tuple[str, str]:
    """(namespace, name)."""
    meta = obj["metadata"]
    return meta.get("namespace") or "", meta["name"]


def with_metadata(obj: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy of `obj` whose metadata has `changes`; a None removes the field."""
    meta = {**obj["metadata"], **changes}
    for field, value in changes.items():
        if value is None:
            del meta[field]
    return {**obj, "metadata": meta}


def owner_uids(obj: dict[str, Any]) -> list[str]:
    references = obj["metadata"].get("ownerReferences")
    return [reference["uid"] for reference in references] if references else []


def controller_of(obj: dict[str, Any]) -> dict[str, Any] | None:
    """The owner reference with `controller: true`, if any."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            owner: dict[str, Any] = reference
            return owner
    return None


def derived_suffix(seed: str) -> str:
    """Five characters as the API server ends generated names with, derived from `seed`."""
    number = int.from_bytes(hashlib.blake2s(seed.encode(), digest_size=8).digest(), "big")
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        number, rest = divmod(number, len(_SUFFIX_ALPHABET))
        letters.append(_SUFFIX_ALPHABET[rest])
    return "".join(letters)

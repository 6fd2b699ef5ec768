"""Limits of one body, with a count that only scans its bytes.

Size alone bounds little: a megabyte of `{},{},…` becomes a hundred megabytes of objects. So values are
counted before any is built, slice by slice, so that no single step takes longer than a millisecond.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode

_SLICE: Final = 1 << 16  # bytes looked at in one step
_BACKSLASH: Final = b"\\"
FILE_BYTES: Final = 256 << 20  # of one file, or of standard input, that a command reads


class FileTooLarge(ValueError):
    """A file, or a device that never ends, has more bytes than are read."""


def read_whole(stream: BinaryIO, most: int = FILE_BYTES) -> bytes:
    """All of a stream, part by part. Raises FileTooLarge."""
    found = bytearray()
    while part := stream.read(1 << 20):
        found += part
        if len(found) > most:
            raise FileTooLarge(f"more than {most >> 20} MiB")
    return bytes(found)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on reading one body. Sizes in bytes; `nodes` are values: objects, lists, texts, numbers."""

    document_bytes: int = 1 << 20
    document_nodes: int = 100_000
    documents: int = 20_000
    nodes: int = 1_000_000

    def check_document(self, text: bytes) -> None:
        """Raise `Rejected` for the JSON of one document: BodyTooLarge, TooManyValues."""
        if len(text) > self.document_bytes:
            raise too_large(self.document_bytes)
        if has_more_nodes(text, self.document_nodes):
            raise too_many_nodes(self.document_nodes)

    def check_count(self, documents: int) -> None:
        """Raise `Rejected` (TooManyDocuments) for more documents than one body may hold."""
        if documents > self.documents:
            rule = f"the body holds more than {self.documents} documents: send them in parts"
            raise Rejected(RejectCode.TOO_MANY_DOCUMENTS, rule)


def too_large(most: int) -> Rejected:
    """The refusal of one document that is too large."""
    return Rejected(
        RejectCode.BODY_TOO_LARGE, f"a document of the body is larger than {most} bytes"
    )


def too_many_nodes(most: int) -> Rejected:
    """The refusal of a body, or of one document, that holds too many values."""
    return Rejected(
        RejectCode.TOO_MANY_VALUES, f"more than {most} values in one piece: send it in parts"
    )


def has_more_nodes(text: bytes, most: int) -> bool:
    """True if a JSON text may hold more than `most` values; an empty list or object counts twice.

    Counts commas and opening brackets outside of strings, and stops once there are enough.
    """
    if len(text) // 2 < most:
        return False  # even `[1,1,…]` takes two bytes a value
    nodes = 1
    for bare in _outside_strings(text):
        nodes += bare.count(b",") + bare.count(b"{") + bare.count(b"[")
        if nodes > most:
            return True
    return False


def _outside_strings(text: bytes) -> Iterator[bytes]:
    """The text outside of strings, slice by slice."""
    at, inside = 0, 0
    while at < len(text):
        end = at + _SLICE
        whole = text[at:end]
        if (len(whole) - len(whole.rstrip(_BACKSLASH))) % 2:
            end += 1  # never between a backslash and what it escapes
            whole = text[at:end]
        parts = whole.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        yield b"".join(parts[inside::2])
        inside ^= (len(parts) - 1) & 1
        at = end

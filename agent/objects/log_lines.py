"""Lines out of the bytes of a container's log, with the instant before each. Pure.

A line may be of any length, and come in any pieces: no more of it is kept than is shown.
"""

from typing import NamedTuple

from shared.wire.streams_v1 import LINE_BYTES

_MOST_STAMP = 40


class ReadLine(NamedTuple):
    """One line: when it was written (RFC 3339, "" where nothing says so), and whether more of it follows."""

    at: str
    text: str
    cut: bool


class Lines:
    """Takes pieces of a log whose lines begin with their instants; gives lines."""

    def __init__(self, most: int = LINE_BYTES) -> None:
        self._most = most
        self._rest = b""
        self._skips = False  # the rest of a line that was cut already

    def feed(self, piece: bytes) -> list[ReadLine]:
        """The lines that a piece completes, and one that has grown too long."""
        found: list[ReadLine] = []
        *whole, rest = piece.split(b"\n")
        for each in whole:
            if not self._skips:
                found.append(self._line(self._rest + each))
            self._rest, self._skips = b"", False
        if not self._skips:
            self._rest += rest
            if len(self._rest) > self._most + _MOST_STAMP:
                found.append(self._line(self._rest))
                self._rest, self._skips = b"", True
        return found

    def end(self) -> list[ReadLine]:
        """What was written of a last line that nothing ended."""
        rest, self._rest = self._rest, b""
        return [self._line(rest)] if rest else []

    def _line(self, raw: bytes) -> ReadLine:
        stamp, space, text = raw.partition(b" ")
        if not space or not _is_stamp(stamp):
            stamp, text = b"", raw
        text = text.removesuffix(b"\r")
        shown = text[: self._most].decode(errors="replace")
        # What is no UTF-8 is shown by a mark of three bytes; characters, not bytes, are what is promised.
        return ReadLine(stamp.decode(), shown, len(text) > self._most)


def _is_stamp(text: bytes) -> bool:
    """As a kubelet writes them: 2026-01-01T00:00:00.000000000Z."""
    return (
        20 <= len(text) <= _MOST_STAMP
        and text[4:5] == text[7:8] == b"-"
        and text[10:11] == b"T"
        and text[:4].isdigit()
    )

"""JSON of many documents: where each of them begins and ends, found piece by piece.

A parser that reads megabytes in one call holds the interpreter for as long, and whatever else the
process does stands still. So a long list is cut into its items first, each read by itself. Only the
ends of values are found here; what a value is, and whether it is well formed, is told by who reads it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from shared.bounds import Bounds, too_large
from shared.errors import Rejected
from shared.quantity import shown
from shared.reject_codes import RejectCode

# `float` reads any number, however long, and never fails; no value made here is used.
_DECODER: Final[Any] = json.JSONDecoder(strict=False, parse_int=float)
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_LITERAL: Final = 16  # characters: no literal, number or escape that matters is cut further off


def cut_json(text: str, bounds: Bounds) -> list[str] | None:
    """The documents of a JSON text: the items of a list, or of a `v1 List`; None if it is another value.

    Raises `Rejected`: MalformedJson, DuplicateKey, TooDeep, TooManyDocuments, or BodyTooLarge for an
    item beyond `bounds`.
    """
    cutter = _Cutter(text, bounds)
    at = cutter.skip(0)
    if text.startswith("[", at):
        spans = list(cutter.items(at))
        cutter.expect_end()
    elif text.startswith("{", at):
        spans = cutter.items_of_list(at)
    else:
        return None
    return [text[start:end] for start, end in spans]


class _Cutter:
    """Walks along a text; `at` is where it stands. A window bounds how much one step looks at."""

    def __init__(self, text: str, bounds: Bounds) -> None:
        self.at = 0
        self._text = text
        self._bounds = bounds
        self._from = 0
        self._window = text[: 2 * bounds.document_bytes]

    def skip(self, at: int) -> int:
        """The next place that is not blank."""
        found = _SPACE.match(self._text, at)
        assert found is not None
        return found.end()

    def items(self, at: int) -> Iterator[tuple[int, int]]:
        """Start and end of each item of the list that begins at `at`; stands behind it afterwards."""
        self.at = self.skip(at + 1)
        if self._text.startswith("]", self.at):
            self.at += 1
            return
        count = 0
        while True:
            count += 1
            self._bounds.check_count(count)
            start, end = self.at, self.end_of(self.at)
            yield start, end
            if self._next("]"):
                return

    def items_of_list(self, at: int) -> list[tuple[int, int]]:
        """The items of the `v1 List` that begins at `at`. Raises `Rejected` for any other object."""
        members: dict[str, str] = {}
        spans: list[tuple[int, int]] | None = None
        self.at = self.skip(at + 1)
        more = True
        while more:
            name = self._name()
            if name in members:
                raise Rejected(
                    RejectCode.DUPLICATE_KEY, f"key {shown(name)} occurs twice in one object"
                )
            if name == "items" and self._text.startswith("[", self.at):
                spans = list(self.items(self.at))
                members[name] = ""
            else:
                start, end = self.at, self.end_of(self.at)
                members[name] = self._text[start:end] if end - start < 100 else ""
            more = not self._next("}")
        self.expect_end()
        is_list = members.get("kind") == '"List"' and members.get("apiVersion") == '"v1"'
        if spans is None or not is_list:  # one document, and longer than one may be
            raise too_large(self._bounds.document_bytes)
        return spans

    def end_of(self, at: int) -> int:
        """The end of the value at `at`; the cutter is there afterwards."""
        try:
            end = self._decoded(at)
            if end is None and self._from != at:
                self._from = at
                self._window = self._text[at : at + self._bounds.document_bytes + _LITERAL]
                end = self._decoded(at)
        except RecursionError:
            raise Rejected(RejectCode.TOO_DEEP, "nested too deep") from None
        if end is None or end - at > self._bounds.document_bytes:
            raise too_large(self._bounds.document_bytes)
        self.at = end
        return end

    def expect_end(self) -> None:
        """Nothing but blanks may follow."""
        at = self.skip(self.at)
        if at < len(self._text):
            raise self._malformed("Extra data", at)

    def _decoded(self, at: int) -> int | None:
        """The end of the value at `at`, or None if the window may have cut it off."""
        cut = self._from + len(self._window) < len(self._text)
        try:
            _, end = _DECODER.raw_decode(self._window, at - self._from)
        except json.JSONDecodeError as fault:
            near = fault.pos + _LITERAL >= len(self._window)
            if cut and (near or fault.msg.startswith("Unterminated")):
                return None
            raise self._malformed(fault.msg, self._from + fault.pos) from None
        return None if cut and end == len(self._window) else self._from + int(end)

    def _name(self) -> str:
        """The name of a member; stands at its value afterwards."""
        start = self.at
        if not self._text.startswith('"', start):
            rule = "Expecting property name enclosed in double quotes"
            raise self._malformed(rule, start)
        end = self.end_of(start)
        name: str = json.loads(self._text[start:end], strict=False)
        self.at = self.skip(self.at)
        if not self._text.startswith(":", self.at):
            raise self._malformed("Expecting ':' delimiter", self.at)
        self.at = self.skip(self.at + 1)
        return name

    def _next(self, closing: str) -> bool:
        """Go on behind a comma; whether `closing` stood there instead."""
        self.at = self.skip(self.at)
        if self._text.startswith(closing, self.at):
            self.at += 1
            return True
        if not self._text.startswith(",", self.at):
            raise self._malformed("Expecting ',' delimiter", self.at)
        self.at = self.skip(self.at + 1)
        return False

    def _malformed(self, rule: str, at: int) -> Rejected:
        fault = json.JSONDecodeError(rule, self._text, at)
        place = f"line {fault.lineno}, column {fault.colno} (character {at})"
        return Rejected(RejectCode.MALFORMED_JSON, f"{rule} at {place}")

"""Marks that the hub shows in place of hidden values: no client sends them back. No input or output.

A manifest that was read from the hub and is applied again would run with the marks as its values.
"""

import re
from collections.abc import Iterator
from typing import Final

from hub.services.reading.draft import Draft
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.secrecy import HIDDEN, is_secret

_IN_BODY: Final = (HIDDEN.encode(), b"hidden:")
_VARIABLE: Final = re.compile(r"(^|\.)env\[[0-9]+\]$")
_MARK: Final = re.compile(rf"{re.escape(HIDDEN)}|hidden:[0-9a-f]{{16}}")


def refuse_hidden(given: Draft) -> Draft:
    """The draft. Raises Rejected: InvalidValue, with the field of the first mark in it."""
    if any(mark in given.body for mark in _IN_BODY):
        field = _find(given.manifest, "", inside=False)
        if field:
            text = (
                f"{field}: {HIDDEN} stands for a value that the hub does not show: send the manifest "
                "with the value itself, and not what was read from the hub"
            )
            raise Rejected(RejectCode.INVALID_VALUE, text, field)
    return given


def _find(value: object, path: str, *, inside: bool) -> str:
    """The path of the first mark, "" for none. `inside`: of a Secret, whose every value may be one."""
    if isinstance(value, str):
        return path if inside and _MARK.fullmatch(value) else ""
    inside = inside or (isinstance(value, dict) and is_secret(value))
    for below, each in _parts(value, path):
        if isinstance(each, dict) and each.get("value") == HIDDEN and _VARIABLE.search(below):
            return f"{below}.value"
        if found := _find(each, below, inside=inside):
            return found
    return ""


def _parts(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        yield from ((f"{path}.{name}".lstrip("."), each) for name, each in value.items())
    elif isinstance(value, list):
        yield from ((f"{path}[{place}]", each) for place, each in enumerate(value))

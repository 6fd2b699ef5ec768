"""Texts from outside: their encoding, how deep they are nested, and what their strings must not hold."""

import re
from typing import Any, Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode

MAX_DEPTH: Final = 100  # a Job is about 12 deep, the deepest kinds of Kubernetes about 40

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def is_deeper_than(value: Any, limit: int) -> bool:
    """True if lists and objects are nested more than `limit` deep."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return bool(level)


def depth_of_text(text: str, enough: int) -> int:
    """The depth of brackets in a JSON text, strings left out; stops beyond `enough`."""
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        start = text[token.start()]
        if start in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > enough:
                break
        elif start in "]}":
            depth -= 1
    return deepest


def decoded(body: bytes) -> str:
    """A body as text. Raises `Rejected`: InvalidEncoding for what is not UTF-8, or looks like UTF-16."""
    if b"\x00" in body[:2]:
        rule = "the body is not UTF-8: it begins as UTF-16 or UTF-32 does"
        raise Rejected(RejectCode.INVALID_ENCODING, rule)
    try:
        return body.decode()
    except UnicodeDecodeError as cause:
        rule = f"the body is not UTF-8: byte {cause.start} is {body[cause.start]:#04x}"
        raise Rejected(RejectCode.INVALID_ENCODING, rule) from None


def check_strings(value: Any) -> None:
    """Raise `InvalidEncoding` for a lone surrogate and `ControlCharacter` for a NUL, in any key or
    string of `value`, with its path.
    """
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, str):
            check_text(item, path)
        elif isinstance(item, dict):
            for key, inner in item.items():
                check_text(key, path)
                waiting.append((f"{path}.{key}" if path else key, inner))
        elif isinstance(item, list):
            waiting.extend((f"{path}[{i}]", inner) for i, inner in enumerate(item))


def check_text(text: str, path: str) -> None:
    """The rule of `check_strings` for one text."""
    if "\x00" in text:
        where = path.replace("\x00", "�")
        raise Rejected(RejectCode.CONTROL_CHARACTER, "a NUL character is not allowed", where)
    if not text.isascii() and _SURROGATE.search(text):
        raise Rejected(RejectCode.INVALID_ENCODING, "a lone surrogate is no character")

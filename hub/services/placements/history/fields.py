"""Differences between two revisions of a placement's objects, field by field.

Confidential values (contents of Secrets, values of environment variables) are hidden; the diff shows that
they differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from shared.documents import Json, JsonView
from shared.pointers import steps
from shared.secrecy import HIDDEN, is_secret, places_at

MOST_FIELDS: Final = 20  # of one object
MOST_VALUE: Final = 120  # characters of a value that are shown
_CONTENTS: Final = ("/data", "/stringData")
_UNSAID: Final = frozenset({"status"})


@dataclass(frozen=True, slots=True)
class Changed:
    """One field: its JSON pointer, and its value before and after, as JSON; "" where it is absent."""

    path: str
    before: str
    after: str

    def as_json(self) -> Json:
        """As shown."""
        return {"path": self.path, "before": self.before, "after": self.after}


def changed_fields(before: JsonView, after: JsonView) -> tuple[list[Changed], int]:
    """Fields in which two manifests of one object differ, at most `MOST_FIELDS`, and how many there are."""
    secret = is_secret(before) or is_secret(after)
    every = list(_differences("", _said(before), _said(after)))
    shown = [
        Changed(
            path,
            _shown(path, one, before, secret=secret),
            _shown(path, other, after, secret=secret),
        )
        for path, one, other in every[:MOST_FIELDS]
    ]
    return shown, len(every)


_ABSENT: Final = object()


def _said(manifest: JsonView) -> JsonView:
    return {name: value for name, value in manifest.items() if name not in _UNSAID}


def _differences(path: str, one: object, other: object) -> Iterator[tuple[str, object, object]]:
    """Maps are looked into, and lists of equal length; else the whole value differs."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted({*one, *other}):
            at = f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"
            yield from _differences(at, one.get(name, _ABSENT), other.get(name, _ABSENT))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(f"{path}/{index}", *pair)
    elif one is _ABSENT or other is _ABSENT or one != other:
        yield path, one, other


def _shown(path: str, value: object, manifest: JsonView, *, secret: bool) -> str:
    if value is _ABSENT:
        return ""
    whole = f"{path}/"
    if secret and whole.startswith(tuple(f"{each}/" for each in _CONTENTS)):
        return HIDDEN
    if places_at(steps(path), value, manifest):
        return HIDDEN
    text = orjson.dumps(value).decode()
    return text if len(text) <= MOST_VALUE else f"{text[:MOST_VALUE]}…"

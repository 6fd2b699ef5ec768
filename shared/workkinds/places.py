"""The places of an object to which plain paths of a definition lead, with wrong types on the way. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from shared.kinds.problems import Problems, is_mapping, objects

_PLAIN: Final = re.compile(r"(?:\.[A-Za-z_]\w*(?:\[\])?)+")
_STEP: Final = re.compile(r"\.([A-Za-z_]\w*)(\[\])?")


class Spot(NamedTuple):
    """A field that may be there. `owner`: the object that would hold it, at path `at`.

    `way`: all objects below the root that lead to it, the owner last, each with its path.
    """

    at: str
    owner: Mapping[str, Any]
    name: str
    way: tuple[tuple[str, Mapping[str, Any]], ...]

    @property
    def field(self) -> str:
        return f"{self.at}.{self.name}" if self.at else self.name

    @property
    def value(self) -> Any:
        return self.owner.get(self.name)


def plain_path(expression: str) -> str:
    """The path that an expression ends with, behind its conditions; "" where that is no plain one."""
    path = expression.rpartition("|")[2].strip()
    return path if _PLAIN.fullmatch(path) else ""


def spots(expression: str, document: Mapping[str, Any], problems: Problems) -> Iterator[Spot]:
    """The places of the path; none if their owner is missing. Notes values that are no object and no list."""
    *steps, last = _STEP.findall(plain_path(expression)) or [("", "")]
    found: list[tuple[str, Mapping[str, Any], tuple[tuple[str, Mapping[str, Any]], ...]]]
    found = [("", document, ())] if last[0] else []
    for name, listed in steps:
        below = []
        for at, owner, way in found:
            field, inner = f"{at}.{name}".lstrip("."), owner.get(name)
            items: list[tuple[str, Mapping[str, Any]]] = []
            if listed:
                items = objects(inner, field, problems)
            elif isinstance(inner, dict):
                items = [(field, inner)]
            else:
                is_mapping(inner, field, problems)
            below += [(path, item, (*way, (path, item))) for path, item in items]
        found = below
    yield from (Spot(at, owner, last[0], way) for at, owner, way in found)

"""`-o jsonpath=TEMPLATE`: a subset of kubectl's templates.

Supports `{.items[*].name}`, `{.a['b.c']}`, `{.a[0]}`, `{.a[-1]}`, `{.a[?(@.b=="c")].d}`, `{range
.items[*]}…{end}`, texts between braces, and quoted ones with escapes. A path without a match prints
nothing.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import click

_PIECE: Final = re.compile(r"\{((?:[^{}\"']|\"(?:[^\"\\]|\\.)*\"|'[^']*')*)\}")
_STEP: Final = re.compile(
    r"""\.?\[\s*(?P<any>\*)\s*\]|\.(?P<star>\*)|\.?\[\s*(?P<number>-?\d{1,9})\s*\]|"""
    r"""\.?\[\s*['"](?P<quoted>[^'"\]]*)['"]\s*\]|"""
    r"""\.?\[\?\(\s*@(?P<left>(?:\.[\w-]+|\['[^']*'\])+)\s*(?P<how>==|!=)\s*(?P<right>"[^"]*"|'[^']*'|[\w.-]+)\s*\)\]|"""
    r"""\.(?P<name>(?:[\w/-]|\\\.)+)"""
)
_DEEPEST: Final = 20
Parts = list[tuple[str, str]]


def check(template: str) -> None:
    """Parse a template. Raises click.BadParameter if it is invalid."""
    _draw(_parts(template), [None])


def render(template: str, value: Any) -> str:
    """Render a value. Raises click.BadParameter."""
    return "".join(_draw(_parts(template), [value]))


def _parts(template: str) -> Parts:
    """Split into `text` and `path`, `range` and `end`, in order."""
    if "{" not in template:
        template = "{" + template + "}"
    parts: Parts = []
    place = 0
    for found in _PIECE.finditer(template):
        parts += [("text", template[place : found.start()])] * (found.start() > place)
        parts.append(_part(found[1].strip()))
        place = found.end()
    rest = template[place:]
    if "{" in rest or "}" in rest:
        raise click.BadParameter(f"jsonpath: {rest!r} has an unbalanced brace.")
    return [*parts, ("text", rest)] if rest else parts


def _part(inside: str) -> tuple[str, str]:
    if inside == "end":
        return "end", ""
    if inside.startswith("range "):
        return "range", inside.removeprefix("range ").strip()
    if inside[:1] in {'"', "'"}:
        try:
            return "text", json.loads(f'"{inside[1:-1]}"')
        except ValueError as fault:
            raise click.BadParameter(f"jsonpath: {inside} is not a quoted text.") from fault
    return "path", inside


def _draw(parts: Parts, values: list[Any], depth: int = 0) -> list[str]:
    if depth > _DEEPEST:
        raise click.BadParameter("jsonpath: ranges are nested too deeply.")
    drawn: list[str] = []
    place = 0
    while place < len(parts):
        what, text = parts[place]
        place += 1
        if what == "text":
            drawn.append(text)
        elif what == "path":
            found = [each for value in values for each in _at(text, value)]
            drawn.append(" ".join(map(_shown, found)))
        elif what == "range":
            end = _end(parts, place)
            rows = [each for value in values for each in _at(text, value)]
            # Without rows run it once, so that an invalid path is reported.
            inner = [_draw(parts[place:end], [row], depth + 1) for row in rows or [None]]
            drawn += [word for words in inner for word in words] if rows else []
            place = end + 1
        else:
            raise click.BadParameter("jsonpath: {end} without a {range}.")
    return drawn


def _end(parts: Parts, place: int) -> int:
    open_ranges = 1
    for index in range(place, len(parts)):
        open_ranges += {"range": 1, "end": -1}.get(parts[index][0], 0)
        if not open_ranges:
            return index
    raise click.BadParameter("jsonpath: {range} without an {end}.")


def _at(path: str, value: Any) -> list[Any]:
    """Return the values at a path; raises click.BadParameter if it is invalid."""
    found = [value]
    for step in _steps(path):
        found = [each for one in found for each in _step(step, one)]
    return found


def _steps(path: str) -> Iterator[dict[str, str]]:
    place, path = 0, path.removeprefix("$").removeprefix("@")
    if path in {"", "."}:
        return
    path = path if path[0] in ".[" else f".{path}"
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            raise click.BadParameter(
                f"jsonpath: {path[place:]!r} is invalid; use a path such as {{.items[*].name}}."
            )
        yield {name: text for name, text in found.groupdict().items() if text is not None}
        place = found.end()


def _step(step: dict[str, str], value: Any) -> list[Any]:
    inside = list(value.values()) if isinstance(value, dict) else value
    if "any" in step or "star" in step:
        return list(inside) if isinstance(inside, list) else []
    if "number" in step:
        number = int(step["number"])
        fits = isinstance(value, list) and -len(value) <= number < len(value)
        return [value[number]] if fits else []
    if "how" in step:
        rows = inside if isinstance(inside, list) else []
        wanted = step["right"].strip("\"'")
        alike = [[_shown(e) for e in _at(step["left"], row)] == [wanted] for row in rows]
        return [
            row for row, is_so in zip(rows, alike, strict=True) if is_so == (step["how"] == "==")
        ]
    name = step.get("quoted", step.get("name", "").replace("\\.", "."))
    return [value[name]] if isinstance(value, dict) and name in value else []


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

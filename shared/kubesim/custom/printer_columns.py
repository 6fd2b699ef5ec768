"""`additionalPrinterColumns` of CRDs: simple JSONPath to table cells."""

import datetime as dt
import functools
import re
from collections.abc import Sequence
from typing import Any

import orjson

from shared.kubesim.apimachinery.columns import AGE, NAME, Column, Object, since

_STEP = re.compile(
    r"""\.?(?:
        (?P<name>(?:\\.|[A-Za-z0-9_\-/])+)(?=\.|\[|$)
      | \[(?P<index>-?\d+)\]
      | \[(?P<all>\*)\]
      | \[(?P<quoted>'[^']+'(?:\s*,\s*'[^']+')*)\]
      | \[\?\(@\.(?P<key>[\w.\-]+)\s*==\s*["'](?P<value>[^"']*)["']\)\]
    )""",
    re.VERBOSE,
)
_QUOTED = re.compile(r"'([^']+)'")


def columns_of(version: dict[str, Any]) -> tuple[Column, ...]:
    """The columns of one version of a CRD; Name and Age where it names none."""
    rows = version.get("additionalPrinterColumns")
    if not rows:
        return (NAME, AGE)
    return (NAME, *(_column(row) for row in rows))


def _column(row: dict[str, Any]) -> Column:
    steps = parse_path(row.get("jsonPath", ""))
    kind = row.get("type", "string")

    def cell(obj: Object, now: dt.datetime) -> Any:
        found = find(obj, steps)
        if not found:
            return None
        if kind == "date":
            return since(found[0], now)
        if kind in ("integer", "number", "boolean"):
            return found[0]
        return ",".join(_text(one) for one in found)

    return Column(
        row["name"],
        cell,
        type=kind,
        priority=row.get("priority", 0),
        format=row.get("format", ""),
        description=row.get("description", ""),
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode()


Step = tuple[str, Any]


@functools.lru_cache(1024)  # columns name the same few paths again and again
def parse_path(text: str) -> tuple[Step, ...]:
    """The steps of a simple JSONPath (`.status.conditions[?(@.type=="Ready")].status`)."""
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    text = text.removeprefix("$")
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or match.end() == position:
            return ()
        position = match.end()
        if match["name"] is not None:
            steps.append(("field", re.sub(r"\\(.)", r"\1", match["name"])))
        elif match["quoted"] is not None:
            steps.append(("fields", _QUOTED.findall(match["quoted"])))
        elif match["index"] is not None:
            steps.append(("index", int(match["index"])))
        elif match["all"]:
            steps.append(("all", None))
        else:
            steps.append(("where", (match["key"].split("."), match["value"])))
    return tuple(steps)


def find(obj: Any, steps: Sequence[Step]) -> list[Any]:
    """All values at a path."""
    if not steps:
        return []
    found = [obj]
    for kind, argument in steps:
        found = [after for one in found for after in _after(one, kind, argument)]
    return [one for one in found if one is not None]


def _after(value: Any, kind: str, argument: Any) -> list[Any]:
    if kind == "field":
        return [value[argument]] if isinstance(value, dict) and argument in value else []
    if kind == "fields":
        return [found for name in argument for found in _after(value, "field", name)]
    if not isinstance(value, list):
        return list(value.values()) if kind == "all" and isinstance(value, dict) else []
    if kind == "all":
        return value
    if kind == "index":
        return [value[argument]] if -len(value) <= argument < len(value) else []
    path, wanted = argument
    return [item for item in value if _text_at(item, path) == wanted]


def _text_at(value: Any, path: list[str]) -> str | None:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return None if value is None else _text(value)

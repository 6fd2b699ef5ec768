"""The values of a chart as rows: name, default, and what its comment in values.yaml says of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.house import sources

_KEY = re.compile(r"^(?P<indent> *)(?P<name>\w+):(?P<rest>.*)$")
_COMMENT = re.compile(r"^ *# ?(?P<text>.*)$")
_TRAILING = re.compile(r" #(?P<text> .*)$")


def rows(chart: str) -> Iterator[tuple[str, str, str]]:
    """Each value of the chart in order; a group that has a comment of its own has a row without a default."""
    text = sources.text_of(Path("deploy/charts") / chart / "values.yaml")
    values = yaml.safe_load(text)
    path: list[tuple[int, str]] = []
    said: list[str] = []
    inside = -1  # the indent of a list below which there are no values of ours
    for line in text.splitlines():
        if (comment := _COMMENT.match(line)) and not line.lstrip().startswith("- "):
            said.append(comment["text"].strip())
            continue
        found = _KEY.match(line)
        if found is None:
            said = []
            continue
        indent = len(found["indent"])
        if 0 <= inside < indent:
            continue
        path = [each for each in path if each[0] < indent] + [(indent, found["name"])]
        value = _at(values, [name for _, name in path])
        inside = indent if isinstance(value, list) else -1
        trailing = _TRAILING.search(found["rest"])
        meaning = trailing["text"].strip() if trailing else " ".join(said)
        said = []
        group = isinstance(value, dict) and bool(value) and "{" not in found["rest"]
        if meaning or not group:
            yield (
                f"`{'.'.join(name for _, name in path)}`",
                "" if group else _shown(value),
                meaning,
            )


def _at(values: Any, path: list[str]) -> Any:
    for name in path:
        values = values[name]
    return values


def _shown(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "see `values.yaml`"
    text = (
        yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("\n...\n").strip()
    )
    return "" if value in ("", None) else f"`{text}`"

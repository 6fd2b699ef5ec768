"""Manifests as tests read them: by libyaml, which takes a tenth of the time of the parser in Python."""

import functools
from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(text: str) -> list[dict[str, Any]]:
    """The documents of a text; empty ones are left out."""
    return [each for each in yaml.load_all(text, Loader=_LOADER) if each]


@functools.cache
def kept(path: Path) -> list[dict[str, Any]]:
    """Those of a file, read once per process: leave them as they are."""
    return documents(path.read_text())

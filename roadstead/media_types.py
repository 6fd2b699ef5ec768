"""Detects the content type of manifests, JSON or YAML, by parsing and not by the first letter.

YAML may begin with a brace too (flow style), and `kubectl` accepts such a file; the hub reads JSON faster
and reports its errors with their position. If a body is neither, the type is guessed, and the hub reports
the error.
"""

import json
from typing import Any, Final

JSON: Final = "application/json"
YAML: Final = "application/yaml"
_BOM: Final = b"\xef\xbb\xbf"


def type_of(manifests: bytes) -> str:
    """The content type of a body; detection expands and stores nothing."""
    text = manifests.removeprefix(_BOM).lstrip()
    if text[:1] not in (b"{", b"["):
        return YAML
    try:
        json.loads(text)
    except (UnicodeDecodeError, RecursionError):
        return JSON  # no YAML either
    except ValueError:
        return YAML if _is_yaml(text) else JSON
    return JSON


def _is_yaml(text: bytes) -> bool:
    import yaml  # noqa: PLC0415 - loaded only where it is needed

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for _ in yaml.parse(text, Loader=loader):
            pass
    except yaml.YAMLError:
        return False
    return True

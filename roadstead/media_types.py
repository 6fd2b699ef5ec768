"""What a body of manifests is sent as: JSON or YAML, told by how it reads and not by its first letter.

YAML may begin with a brace too (flow style), and `kubectl` takes such a file; JSON is read faster by
the hub and its faults are told with their place. What is neither goes as what it looks like, and the
hub says what is wrong with it.
"""

import json
from typing import Any, Final

JSON: Final = "application/json"
YAML: Final = "application/yaml"
_BOM: Final = b"\xef\xbb\xbf"


def type_of(manifests: bytes) -> str:
    """The content type of a body; reading it expands nothing and keeps nothing."""
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

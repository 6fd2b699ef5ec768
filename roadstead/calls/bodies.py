"""Bodies of requests."""

import json
from collections.abc import Mapping
from typing import Any


def body_of(given: Mapping[str, Any]) -> bytes:
    """An object as JSON."""
    return json.dumps(given, separators=(",", ":")).encode()

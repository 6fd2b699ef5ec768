"""Exit codes of pods that fail: one that jobs want to be tried again after, and one that they do not."""

import zlib
from typing import Any, Final

RETRIED_CODE: Final = 137
Object = dict[str, Any]


def ended(pod: Object, phase: str, seed: int) -> Object:
    """How the container of a failed pod ended. Nothing is drawn for it: its name and the seed say."""
    if phase != "Failed":
        return {}
    name = f"{seed} {pod['metadata']['uid']}"
    code = RETRIED_CODE if zlib.crc32(name.encode()) % 2 else 1
    return {"containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": code}}}]}

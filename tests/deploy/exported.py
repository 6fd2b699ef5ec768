"""Series that hub and agents export to Prometheus, by the page of metrics and with its endings."""

import re
from typing import Final

from tests.house.sources import REPOSITORY

_ROW: Final = re.compile(r"^\| `(roadstead_\w+)` \| (\w+) \|", re.MULTILINE)
_ENDINGS: Final = {
    "gauge": [""],
    "counter": ["_total"],
    "histogram": ["_bucket", "_sum", "_count"],
}


def exported() -> set[str]:
    """Names of all series."""
    text = (REPOSITORY / "docs/reference/metrics.md").read_text()
    return {f"{name}{end}" for name, kind in _ROW.findall(text) for end in _ENDINGS[kind]}

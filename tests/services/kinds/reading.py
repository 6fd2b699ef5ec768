"""Reads one manifest as the hub does before it is stored."""

from typing import Any

import pytest

from hub.services.reading.work_kinds import read_work
from shared.errors import Rejected
from shared.kinds.registry import parse


def refused(manifest: dict[str, Any]) -> tuple[str, str]:
    """The code and the field with which it is refused."""
    with pytest.raises(Rejected) as refusal:
        read_work(parse(manifest))
    return refusal.value.code, refusal.value.field

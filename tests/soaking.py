"""Parameters of which a few stand for the others in every change.

The others are marked `soak`: they run before a release (CONTRIBUTING.md).
"""

from collections.abc import Iterable
from typing import Any

import pytest


def others_soak(every: Iterable[Any], *kept: Any) -> list[Any]:
    """All of `every`, names or rows that begin with a name; those that are not `kept` are marked `soak`."""
    params = []
    for one in every:
        row = one if isinstance(one, tuple) else (one,)
        marks = () if row[0] in kept else (pytest.mark.soak,)
        params.append(pytest.param(*row, marks=marks))
    return params

"""What people install: the SDK (`from roadstead import Client`) and the `roadstead` command.

Names are loaded when they are first asked for, so that `roadstead --help` loads no HTTP.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roadstead.client import Client
    from roadstead.errors import (
        JobFailed,
        NotAllowed,
        NotFound,
        Rejected,
        RoadsteadError,
        TimedOut,
        Unreachable,
        WrongAddress,
    )

__all__ = [
    "Client",
    "JobFailed",
    "NotAllowed",
    "NotFound",
    "Rejected",
    "RoadsteadError",
    "TimedOut",
    "Unreachable",
    "WrongAddress",
]


def __getattr__(name: str) -> Any:
    """Load a public name (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "roadstead.client" if name == "Client" else "roadstead.errors"
    return getattr(importlib.import_module(module), name)

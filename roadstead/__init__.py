"""The package that users install: the SDK (`from roadstead import Client`) and the `roadstead` command.

Names are loaded on first use, so that `roadstead --help` loads no HTTP.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from roadstead.async_client import AsyncClient
    from roadstead.client import Client
    from roadstead.errors import (
        JobFailed,
        NotAllowed,
        NotFound,
        Rejected,
        RoadsteadError,
        SomeRejected,
        TimedOut,
        Unreachable,
        WrongAddress,
    )
    from roadstead.models.jobs import JobState

__all__ = [
    "AsyncClient",
    "Client",
    "JobFailed",
    "JobState",
    "NotAllowed",
    "NotFound",
    "Rejected",
    "RoadsteadError",
    "SomeRejected",
    "TimedOut",
    "Unreachable",
    "WrongAddress",
]
_ELSEWHERE = {
    "AsyncClient": "roadstead.async_client",
    "Client": "roadstead.client",
    "JobState": "roadstead.models.jobs",
}


def __getattr__(name: str) -> Any:
    """Load a public name (PEP 562); `__version__` is that of the installed distribution."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("roadstead")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE.get(name, "roadstead.errors")), name)

"""What people install: the SDK (`from roadstead import Client`) and the `roadstead` command."""

from roadstead.client import Client
from roadstead.errors import JobFailed, NotAllowed, NotFound, Rejected, RoadsteadError, Unreachable

__all__ = [
    "Client",
    "JobFailed",
    "NotAllowed",
    "NotFound",
    "Rejected",
    "RoadsteadError",
    "Unreachable",
]

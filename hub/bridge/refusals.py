"""Why the hub does not take an object of the hub cluster."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MirrorRefusal:
    """A stable code, and the fault with its remedy."""

    code: str
    detail: str

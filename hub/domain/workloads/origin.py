"""Where an object was declared: whoever declared it owns it."""

from enum import StrEnum


class Origin(StrEnum):
    """`ANY` is nobody's own: a Namespace that jobs needed."""

    REST = "rest"
    HUB_CLUSTER = "hub-cluster"
    HUB = "hub"
    ANY = "any"


def place_of(origin: str) -> str:
    """Where, and by what, a person changes what came from there."""
    return (
        "on the hub cluster, with kubectl"
        if origin == Origin.HUB_CLUSTER
        else "through REST, with roadstead"
    )

"""The origin of an object: the side that declared it owns it."""

from enum import StrEnum


class Origin(StrEnum):
    """`ANY` has no owner: a Namespace that jobs needed."""

    REST = "rest"
    HUB_CLUSTER = "hub-cluster"
    HUB = "hub"
    ANY = "any"


def place_of(origin: str) -> str:
    """The place and tool with which a person changes an object of this origin."""
    return (
        "on the hub cluster, with kubectl"
        if origin == Origin.HUB_CLUSTER
        else "through REST, with roadstead"
    )

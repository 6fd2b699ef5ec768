"""Where an object was declared: whoever declared it owns it."""

from enum import StrEnum


class Origin(StrEnum):
    """`ANY` is nobody's own: a Namespace that jobs needed."""

    REST = "rest"
    HUB_CLUSTER = "hub-cluster"
    HUB = "hub"
    ANY = "any"

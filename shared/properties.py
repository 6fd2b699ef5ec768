"""Names of cluster properties, and what their values mean. Pure; agents, hub and kinds agree on it.

A value is a quantity. Two kinds of names are read otherwise: a version is compared part by part (as a
quantity 1.9 would be newer than 1.30), and where a cluster is has no order: it is equal or it is not.
"""

import re
from decimal import Decimal
from typing import Final

from shared import quantity
from shared.errors import Rejected
from shared.quantity import shown
from shared.reject_codes import RejectCode

USAGE_PREFIX: Final = "resources.kubernetes-fleet.io/"
USAGE_VIEWS: Final = ("total-", "allocatable-", "available-")
TOTAL_PREFIX: Final = USAGE_PREFIX + USAGE_VIEWS[0]
NODE_COUNT: Final = "kubernetes-fleet.io/node-count"
VERSION: Final = "k8s.io/k8s-version"
REGION: Final = "topology.kubernetes.io/region"
ZONE: Final = "topology.kubernetes.io/zone"
LOCATIONS: Final = (REGION, ZONE)
CORE_COST: Final = "kubernetes.azure.com/per-cpu-core-cost"
GIB_COST: Final = "kubernetes.azure.com/per-gb-memory-cost"

LONGEST_NAME: Final = 317  # a DNS prefix of 253, and names of at most 63 after it
LONGEST_VALUE: Final = 256

_VERSION: Final = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:[-+].*)?")
_STEP: Final = 10_000  # between the parts of a version


def shape_count(instance_type: str) -> str:
    """The property that counts nodes of a shape, by KubeFleet's name for it."""
    return f"kubernetes.azure.com/vm-sizes/{instance_type}/count"


def is_location(name: str) -> bool:
    """Is its value a text, which is equal or not?"""
    return name in LOCATIONS


def number(name: str, text: str | float) -> Decimal:
    """What a value counts as; versions grow with their parts, major first.

    Raises `Rejected`: InvalidQuantity, or QuantityTooLarge beyond 10**40.
    """
    if name != VERSION:
        return quantity.number(text)
    found = _VERSION.fullmatch(str(text))
    if found is None:
        why = f"{shown(text)} is no version, such as 1.34 or v1.34.2"
        raise Rejected(RejectCode.INVALID_QUANTITY, why)
    major, minor, patch = (int(part or 0) for part in found.groups())
    return Decimal((major * _STEP + minor) * _STEP + patch)

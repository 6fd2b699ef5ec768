"""Placements' decisions as records, and what they read of Jobs."""

from collections.abc import Mapping
from typing import NamedTuple


class Binding(NamedTuple):
    """A placement's decision for one cluster; since when it stands is kept beside it."""

    placement: str  # uid
    cluster: str
    selected: bool
    affinity_score: int
    topology_score: int
    reason: str
    message: str
    policy_snapshot: str
    resource_snapshot: str


class StoredSnapshot(NamedTuple):
    """A revision of what a placement selects, or of how."""

    number: int
    hash: str


class JobTraits(NamedTuple):
    """What decides which placements a Job concerns."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    placement: str  # uid of the one that chose it; "" = its queue

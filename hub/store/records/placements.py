"""Placements' decisions as records, and what they read of Jobs."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from shared.documents import JsonView

OF_A_JOB: Final = "job"  # policy snapshot of a binding that a Job's own placing made


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
    resource_snapshot: str  # index of what the cluster was given; "": nothing yet
    overrides: Sequence[JsonView] | None = (
        None  # of what it was given: kind, namespace, name, uid, index
    )
    settled_at: dt.datetime | None = (
        None  # since when all of that is there, and nothing not available
    )


class BoundBinding(NamedTuple):
    """A decision and since when it stands."""

    binding: Binding
    at: dt.datetime


class StoredSnapshot(NamedTuple):
    """A revision of what a placement selects, or of how."""

    number: int
    hash: str


class StoredRevision(NamedTuple):
    """A revision with what it says. `content` of resources: {"selected", "objects"}."""

    number: int
    hash: str
    content: JsonView
    created_at: dt.datetime


class SelectedObject(NamedTuple):
    """One object of a snapshot: where it belongs, and the hash of what it was."""

    uid: str
    hash: str
    generation: int
    api_version: str
    kind: str
    namespace: str
    name: str


class JobTraits(NamedTuple):
    """Inputs of which placements a job concerns."""

    api_version: str
    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    placement: str  # uid of the one that chose it; "" = its queue

"""Placements' records: revisions of their objects, decisions for clusters, desired objects of clusters."""

import datetime as dt

from roadstead.models.placements import SelectedResource
from roadstead.models.record import Record


class ChangedField(Record):
    """A field that differs between two revisions: its JSON before and after, empty if absent."""

    path: str
    before: str = ""
    after: str = ""


class ChangedResource(SelectedResource):
    """An object that both revisions have, and that differs."""

    changed_fields: tuple[ChangedField, ...] = ()
    field_count: int = 0


class RevisionChanges(Record):
    """The difference between two revisions; `more` counts unlisted objects."""

    added: tuple[SelectedResource, ...] = ()
    removed: tuple[SelectedResource, ...] = ()
    changed: tuple[ChangedResource, ...] = ()
    more: int = 0


class Revision(Record):
    """One revision of a placement's objects. `current`: the one that clusters should have."""

    index: int
    hash: str = ""
    created_at: dt.datetime | None = None
    newest: bool = False
    current: bool = False
    selected: int = 0
    clusters: tuple[str, ...] = ()
    changes: RevisionChanges | None = None


class RolledCluster(Record):
    """A cluster, its revision, and whether that changes."""

    name: str
    index: str = ""
    changes: bool = False


class RolledBack(Record):
    """The effect of a rollback to a revision."""

    kind: str
    namespace: str = ""
    name: str
    carried_out: bool = False
    from_index: int = 0
    to_index: int = 0
    newest_index: int = 0
    message: str = ""
    clusters: tuple[RolledCluster, ...] = ()
    changes: RevisionChanges | None = None


class PlacementBinding(Record):
    """A placement's decision for one cluster."""

    placement_kind: str = ""
    placement_namespace: str = ""
    placement: str = ""
    cluster: str
    state: str = ""
    of_job: bool = False
    leaving: bool = False
    resource_snapshot_index: str = ""
    affinity_score: int = 0
    topology_spread_score: int = 0
    reason: str = ""
    message: str = ""
    bound_at: dt.datetime | None = None
    settled_at: dt.datetime | None = None


class ClusterWork(Record):
    """One desired object or Job of a cluster, and its agent's report."""

    cluster: str
    uid: str = ""
    api_version: str = ""
    kind: str
    namespace: str = ""
    name: str
    placement_kind: str = ""
    placement_namespace: str = ""
    placement: str = ""
    epoch: int = 0
    generation: int = 0
    observed_generation: int = 0
    action: str = ""
    phase: str = ""
    available: bool | None = None
    failed: bool = False
    drifted: int = 0
    reason: str = ""
    message: str = ""
    created_at: dt.datetime | None = None
    observed_at: dt.datetime | None = None

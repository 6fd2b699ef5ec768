"""Placements' records: revisions of what they select, decisions for clusters, and what clusters are given."""

from typing import Annotated

from pydantic import Field

from hub.api.models.base import Body, Instant, ListPage, Model, example_of
from hub.api.models.plan import PlannedResource


class ChangedField(Model):
    """A field that differs between two revisions of an object."""

    path: str
    """JSON pointer."""
    before: str
    """As JSON; empty if absent. Contents of Secrets and of environment variables are hidden."""
    after: str


class ChangedResource(PlannedResource):
    """An object that both revisions have, and that differs."""

    changed_fields: list[ChangedField]
    """At most 20."""
    field_count: int


class RevisionChanges(Model):
    """Differences of a revision to another; of each kind at most 50."""

    added: list[PlannedResource]
    removed: list[PlannedResource]
    changed: list[ChangedResource]
    more: int
    """Objects that are not listed."""


class HeldRollback(Model):
    """That clusters get an older revision, and since when."""

    resource_snapshot_index: str
    newest_resource_snapshot_index: str
    """The newest one at the time of the request."""
    by: str
    time: Instant


class PlacementRevision(Model):
    """One revision of what a placement selects."""

    index: int
    hash: str
    created_at: Instant
    newest: bool
    current: bool
    """The one that clusters are to have: the newest, unless it was rolled back."""
    selected: int
    """Objects and Jobs."""
    clusters: list[str]
    """That were given it and nothing since; at most 1000."""
    changes: RevisionChanges
    """From the one before it."""


class RevisionList(Model):
    """Revisions of a placement, newest first."""

    kind: str
    namespace: str
    name: str
    rollback: HeldRollback | None
    items: list[PlacementRevision]


class RollbackWish(Body):
    """A revision to go back to, or that the newest rolls out again."""

    model_config = example_of({"to": 3, "dryRun": True})

    to: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    """Index of a revision that is kept."""
    release: bool | None = None
    """The newest rolls out again; instead of `to`."""
    dry_run: bool | None = None
    """It is only shown."""


class RolledCluster(Model):
    """A cluster, the revision that it has, and whether that changes."""

    name: str
    index: str
    """Empty: it has received nothing yet."""
    changes: bool


class RolledBack(Model):
    """The effect of a rollback."""

    kind: str
    namespace: str
    name: str
    carried_out: bool
    from_index: int
    to_index: int
    newest_index: int
    message: str
    clusters: list[RolledCluster]
    """At most 1000."""
    changes: RevisionChanges
    """What the revision gone to has that the one before has not."""


class PlacementBinding(Model):
    """A placement's decision for one cluster."""

    placement_kind: str
    placement_namespace: str
    placement: str
    cluster: str
    state: str
    """Scheduled: nothing was given yet. Bound. Unscheduled: its objects are being withdrawn."""
    of_job: bool
    """A Job's own placing made it."""
    leaving: bool
    """It goes once another is available."""
    resource_snapshot_index: str
    """Of what it was given; empty: nothing."""
    affinity_score: int
    topology_spread_score: int
    reason: str
    message: str
    bound_at: Instant
    settled_at: Instant | None
    """Since when all of it is there and available."""


class BindingList(ListPage):
    """A page of decisions."""

    items: list[PlacementBinding]


class ClusterWork(Model):
    """One object or Job that a cluster is given, and what its agent says of it."""

    cluster: str
    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str
    placement_kind: str
    placement_namespace: str
    placement: str
    """What placed it; empty: a Job's queue."""
    epoch: int
    generation: int
    observed_generation: int
    action: str
    """Apply, Compare, Withdraw, or Keep (left to the member)."""
    phase: str
    """As told last; empty: nothing yet."""
    available: bool | None
    """None: its kind does not tell."""
    failed: bool
    drifted: int
    """Fields."""
    reason: str
    message: str
    created_at: Instant
    observed_at: Instant | None


class WorkList(ListPage):
    """A page of works, by cluster."""

    items: list[ClusterWork]

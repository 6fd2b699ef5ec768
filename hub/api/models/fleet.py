"""The fleet at a glance, its placements, and what happened in it."""

from typing import Any, Literal

from hub.api.models.base import (
    ApiCondition,
    Body,
    Instant,
    Kubernetes,
    ListPage,
    Model,
    example_of,
)
from hub.api.models.clusters import ClusterState, ResourceRoom
from hub.api.models.objects import EnvelopeName


class ClusterResources(Model):
    """The room of one cluster."""

    name: str
    state: ClusterState
    resources: dict[str, ResourceRoom]


class Overview(Model):
    """Counts, and the room of every cluster."""

    jobs: dict[str, int]
    """By state."""
    clusters: dict[str, int]
    """By state, and `total`."""
    room: list[ClusterResources]
    queues: int
    revision: int
    """The newest of the change feed."""
    conditions: list[ApiCondition]
    """What an administrator has to know of the hub itself."""
    hub_id: str
    """The hub's id in members: labels `managed-by`, `created-by` and `accept` name it."""


class PlacementFigures(Model):
    """A placement: what it selects, where it is, and what it still waits for."""

    kind: Literal["ClusterResourcePlacement", "ResourcePlacement"]
    namespace: str
    name: str
    uid: str
    origin: str
    generation: int
    policy: Kubernetes
    resource_selectors: list[Kubernetes]
    conditions: list[ApiCondition]
    selected_resources: list[Kubernetes]
    placement_statuses: list[Kubernetes]
    """Per cluster, as KubeFleet's `perClusterPlacementStatuses`."""
    created_at: Instant
    deleted_at: Instant | None


class PlacementList(ListPage):
    """A page of placements."""

    items: list[PlacementFigures]


class DriftedField(Model):
    """A field that no longer is as the hub wants it."""

    cluster: str
    uid: str
    kind: str
    namespace: str
    name: str
    path: str | None
    """JSON pointer."""
    hub: str | None
    """Its value here, as JSON; null if it has none. Secrets are redacted."""
    member: str | None
    first_seen: str | None
    last_seen: Instant | None
    """When the member last said so."""
    member_generation: int
    """metadata.generation of the object there; 0 of kinds that have none."""
    envelope: EnvelopeName | None
    """Its envelope on the hub; null for an object without one."""


class DriftList(ListPage):
    """A page of drifted fields, object by object."""

    items: list[DriftedField]


class DriftDecision(Body):
    """The decision about a drifted object of one member."""

    model_config = example_of(
        {
            "how": "restore",
            "cluster": "east",
            "kind": "ConfigMap",
            "namespace": "team-a",
            "name": "settings",
        }
    )

    how: Literal["accept", "restore", "ignore"]
    """accept: copy the member's values to the hub. restore: write the hub's values there again, also under
    IfNotDrifted. ignore: leave them to the member permanently."""
    cluster: str
    kind: str
    namespace: str = ""
    name: str
    path: str = ""
    """JSON pointer of one field; empty: all drifted fields."""


class SettledDrift(Model):
    """The result for a drifted object of one member."""

    cluster: str
    uid: str
    kind: str
    namespace: str
    name: str
    paths: list[str]
    result: Literal["accept", "restore", "ignore"]


class RecordedEvent(Model):
    """Something that happened."""

    id: int
    at: Instant
    uid: str
    kind: str
    namespace: str
    name: str
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    cluster: str
    """The member that it happened in or for; empty: none."""
    epoch: int
    """Of the job; 0: of none."""
    cause: str
    """The code of why, as jobs have it in `reason`; empty: it needs none."""
    subject: str
    """What of it: the name of a pod, the path of a field; empty: the whole."""
    member_at: Instant | None
    """When it happened, by the member's clock."""


class EventList(ListPage):
    """The newest page of what happened, oldest first; `continue` goes back in time."""

    items: list[RecordedEvent]


class JobEventList(Model):
    """The newest events of one job, oldest first."""

    items: list[RecordedEvent]


class FeedChange(Model):
    """The changes of one commit, as one server-sent event."""

    revision: int
    kind: str
    keys: list[Any] | None
    at: Instant


class Health(Model):
    """It answers."""

    status: Literal["ok"]


class Readiness(Health):
    """The store answers and takes writes."""

    revision: int


class KeptTable(Model):
    """The size of one table of the store, and its bound."""

    table: str
    rows: int
    oldest: Instant | None
    """None: its rows have no age, or it is empty."""
    kept_seconds: int | None
    """After which rows go; None where it is not age that bounds it."""
    bound: str
    """What else does, in words."""


class RetentionList(Model):
    """The retention, table by table."""

    items: list[KeptTable]


class RetentionRun(Model):
    """The deletions of this run."""

    removed: dict[str, int]
    """By step."""

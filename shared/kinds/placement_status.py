"""Status of a placement, as KubeFleet has it (`ClusterResourcePlacementStatus`): for the schemas.

The hub writes these fields; `docs` and `kubectl describe` show them. Lists of drifts and diffs are
bounded at 100 as there.
"""

from typing import Annotated, Final

from pydantic import Field

from shared.kinds.model import Condition, Model, Opaque, Timestamp, by_type

Hundred = Field(max_length=100)
STATUS_COPY: Final = "ClusterResourcePlacementStatus"


class Envelope(Model):
    name: str
    namespace: str | None = None
    type: str | None = None


class ResourceIdentifier(Model):
    group: str | None = None
    version: str
    kind: str
    name: str
    namespace: str | None = None
    envelope: Envelope | None = None


class FailedPlacement(ResourceIdentifier):
    condition: Condition


class ObservedDifference(Model):
    path: str
    value_in_member: str | None = None
    value_in_hub: str | None = None


class DriftedPlacement(ResourceIdentifier):
    observation_time: Timestamp
    target_cluster_observed_generation: int
    first_drifted_observed_time: Timestamp
    observed_drifts: Annotated[list[ObservedDifference], Hundred] | None = None


class DiffedPlacement(ResourceIdentifier):
    observation_time: Timestamp
    target_cluster_observed_generation: int | None = None
    first_diffed_observed_time: Timestamp
    observed_diffs: Annotated[list[ObservedDifference], Hundred] | None = None


class ReportedStatus(ResourceIdentifier):
    """Own field: an object's status in the cluster; without `status` where there is no room for it."""

    observation_time: Timestamp
    status: Opaque | None = None


class NamespacedName(Model):
    name: str
    namespace: str | None = None


class PerClusterStatus(Model):
    cluster_name: str | None = None
    observed_resource_index: str | None = None
    applicable_cluster_resource_overrides: list[str] | None = None
    applicable_resource_overrides: list[NamespacedName] | None = None
    failed_placements: Annotated[list[FailedPlacement], Hundred] | None = None
    drifted_placements: Annotated[list[DriftedPlacement], Hundred] | None = None
    diffed_placements: Annotated[list[DiffedPlacement], Hundred] | None = None
    reported_statuses: Annotated[list[ReportedStatus], Hundred] | None = None
    conditions: list[Condition] | None = by_type()


class Rollback(Model):
    """Own field: clusters get an older revision; which was the newest when that was asked, and by whom."""

    resource_snapshot_index: str
    newest_resource_snapshot_index: str
    left: str | None = None
    by: str | None = None
    time: Timestamp | None = None


class PerObject(ResourceIdentifier):
    """Own field: a Job of a placement with roadstead.dev/per-object, and where its own placing put it."""

    cluster_name: str | None = None
    reason: str | None = None
    message: str | None = None


class PlacementStatus(Model):
    selected_resources: list[ResourceIdentifier] | None = None
    observed_resource_index: str | None = None
    placement_statuses: list[PerClusterStatus] | None = None
    rollback: Rollback | None = None
    per_object: Annotated[list[PerObject], Hundred] | None = None
    conditions: list[Condition] | None = by_type()


class EnvelopeStatus(Model):
    """Own field: what of an envelope is not placed."""

    conditions: list[Condition] | None = by_type()


class StatusCopy(Model):
    """The content of a ClusterResourcePlacementStatus: a placement's status for readers of its namespace."""

    source_status: PlacementStatus | None = None
    last_updated_time: Timestamp | None = None

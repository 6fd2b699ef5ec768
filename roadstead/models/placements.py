"""Placements: their objects, clusters, and drift."""

import datetime as dt
from typing import Any

from roadstead.models.objects import Condition
from roadstead.models.record import Json, Record, record_field


class Envelope(Record):
    """The envelope of an object: `type` is its kind."""

    type: str = ""
    namespace: str = ""
    name: str


class SelectedResource(Record):
    """An object that a placement selected."""

    group: str = ""
    version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    envelope: Envelope | None = None


class FailedResource(SelectedResource):
    """… that a member refused."""

    condition: Condition | None = None


class ObservedDrift(Record):
    """One field with both values."""

    path: str
    value_in_hub: str = "-"
    value_in_member: str = "-"


class DriftedResource(SelectedResource):
    """… that has drifted."""

    observed_drifts: tuple[ObservedDrift, ...] = ()


class DiffedResource(SelectedResource):
    """… that differs from the hub's, if it is only compared."""

    observed_diffs: tuple[ObservedDrift, ...] = ()


class PlacementStatus(Record):
    """The state of a placement on one member; `cluster_name` is empty if none was found."""

    cluster_name: str = ""
    conditions: tuple[Condition, ...] = ()
    failed_placements: tuple[FailedResource, ...] = ()
    drifted_placements: tuple[DriftedResource, ...] = ()
    diffed_placements: tuple[DiffedResource, ...] = ()


class Placement(Record):
    """A ClusterResourcePlacement, or a ResourcePlacement with its namespace."""

    kind: str
    namespace: str = ""
    name: str
    uid: str = ""
    origin: str = ""
    generation: int = 1
    policy: Json = record_field(default_factory=dict)
    resource_selectors: tuple[Json, ...] = ()
    conditions: tuple[Condition, ...] = ()
    selected_resources: tuple[SelectedResource, ...] = ()
    placement_statuses: tuple[PlacementStatus, ...] = ()
    created_at: dt.datetime | None = None
    deleted_at: dt.datetime | None = None

    @property
    def full_name(self) -> str:
        """Its name, with its namespace if it has one."""
        return "/".join(each for each in (self.namespace, self.name) if each)


class EnvelopeName(Record):
    """The envelope of the object."""

    type: str
    namespace: str = ""
    name: str


class DriftedField(Record):
    """A field of an object on a member with the hub's value and the member's."""

    cluster: str
    uid: str = ""
    kind: str
    namespace: str = ""
    name: str
    path: str = ""
    hub: Any = None
    member: Any = None
    first_seen: dt.datetime | None = None
    last_seen: dt.datetime | None = None
    member_generation: int = 0
    envelope: EnvelopeName | None = None


class SettledDrift(Record):
    """The settlement of drift of one object: `result` is accept, restore or ignore."""

    cluster: str
    uid: str = ""
    kind: str
    namespace: str = ""
    name: str
    paths: tuple[str, ...] = ()
    result: str

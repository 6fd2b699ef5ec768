"""KubeFleet's ClusterResourcePlacement and ResourcePlacement, v1: the internal shape.

Field names, bounds and defaults are KubeFleet's (apis/placement/v1); v1beta1 has the same. Two
defaults are left open, because they depend on more than the manifest: whenToTakeOver (IfNoDiff in
Roadstead, Never for Jobs) and everything about clusters. Rules over several fields are in
`placement_rules`.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from shared.groups import PLACEMENT
from shared.kinds.model import INT32_MAX, IntOrPercent, LabelSelector, Model

GROUP = PLACEMENT
# Of the whole fleet, and of one namespace.
PLACEMENT_KINDS: Final = ("ClusterResourcePlacement", "ResourcePlacement")
VERSION = "v1"

MOST_CLUSTERS = 10_000


def placement_kind(namespace: str) -> str:
    """The kind of a placement that is in `namespace`; in none, of one of the whole fleet."""
    return PLACEMENT_KINDS[1] if namespace else PLACEMENT_KINDS[0]


class ResourceSelector(Model):
    """What to place: all objects of a kind, those with labels, or one by name."""

    group: str = Field(max_length=253)
    version: str = Field(min_length=1, max_length=63)
    kind: str = Field(min_length=1, max_length=63)
    name: str | None = Field(default=None, max_length=253)
    label_selector: LabelSelector | None = None
    selection_scope: (
        Literal["NamespaceWithResources", "NamespaceOnly", "NamespaceWithResourceSelectors"] | None
    ) = None


class PropertyRequirement(Model):
    name: str = Field(min_length=1, max_length=317)
    operator: Literal["Gt", "Ge", "Eq", "Ne", "Lt", "Le"]
    values: Annotated[list[str], Field(min_length=1, max_length=1)]


class PropertySelector(Model):
    match_expressions: Annotated[list[PropertyRequirement], Field(min_length=1, max_length=100)]


class PropertySorter(Model):
    name: str = Field(min_length=1, max_length=317)
    sort_order: Literal["Descending", "Ascending"]


class ClusterTerm(Model):
    label_selector: LabelSelector | None = None
    property_selector: PropertySelector | None = None
    property_sorter: PropertySorter | None = None


class ClusterSelector(Model):
    cluster_selector_terms: Annotated[list[ClusterTerm], Field(max_length=10)]


class PreferredTerm(Model):
    weight: Annotated[int, Field(ge=-100, le=100)]
    preference: ClusterTerm


class ClusterAffinity(Model):
    required_during_scheduling_ignored_during_execution: ClusterSelector | None = None
    required_during_scheduling_required_during_execution: ClusterSelector | None = None
    preferred_during_scheduling_ignored_during_execution: (
        Annotated[list[PreferredTerm], Field(max_length=100)] | None
    ) = None


class Affinity(Model):
    cluster_affinity: ClusterAffinity | None = None


class SpreadConstraint(Model):
    max_skew: Annotated[int, Field(ge=1, le=INT32_MAX)] = 1
    topology_key: str = Field(min_length=1, max_length=317)
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = "DoNotSchedule"


class Toleration(Model):
    key: str | None = None
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str | None = None
    effect: str | None = None


class Policy(Model):
    """Which clusters: all that match, the best N, or those named."""

    placement_type: Literal["PickAll", "PickN", "PickFixed"] = "PickAll"
    cluster_names: (
        Annotated[list[Annotated[str, Field(max_length=63)]], Field(max_length=100)] | None
    ) = None
    number_of_clusters: Annotated[int, Field(ge=0, le=MOST_CLUSTERS)] | None = None
    affinity: Affinity | None = None
    topology_spread_constraints: Annotated[list[SpreadConstraint], Field(max_length=10)] | None = (
        None
    )
    tolerations: Annotated[list[Toleration], Field(max_length=100)] | None = None


class RollingUpdate(Model):
    max_unavailable: IntOrPercent = "25%"
    max_surge: IntOrPercent = "25%"
    unavailable_period_seconds: Annotated[int, Field(ge=0, le=INT32_MAX)] = 60


class ServerSideApplyConfig(Model):
    force: bool = False


class ApplyStrategy(Model):
    comparison_option: Literal["PartialComparison", "FullComparison"] = "PartialComparison"
    when_to_apply: Literal["Always", "IfNotDrifted"] = "Always"
    type: Literal["ClientSideApply", "ServerSideApply", "ReportDiff"] = "ClientSideApply"
    allow_co_ownership: bool = False
    server_side_apply_config: ServerSideApplyConfig | None = None
    when_to_take_over: Literal["Always", "IfNoDiff", "Never"] | None = None


class DeleteStrategy(Model):
    propagation_policy: Literal["Delete", "Abandon"] = "Delete"


class ReportBackStrategy(Model):
    type: Literal["Disabled", "Mirror"] = "Disabled"
    destination: Literal["OriginalResource", "WorkAPI"] | None = None


class Strategy(Model):
    type: Literal["RollingUpdate", "External"] = "RollingUpdate"
    rolling_update: RollingUpdate | None = None
    apply_strategy: ApplyStrategy = Field(default_factory=ApplyStrategy)
    delete_strategy: DeleteStrategy = Field(default_factory=DeleteStrategy)
    report_back_strategy: ReportBackStrategy | None = None


class PlacementSpec(Model):
    resource_selectors: Annotated[list[ResourceSelector], Field(min_length=1, max_length=100)]
    policy: Policy = Field(default_factory=Policy)
    strategy: Strategy = Field(default_factory=Strategy)
    revision_history_limit: Annotated[int, Field(ge=1, le=1000)] = 10
    status_reporting_scope: Literal["ClusterScopeOnly", "NamespaceAccessible"] | None = None


class Placement(Model):
    spec: PlacementSpec

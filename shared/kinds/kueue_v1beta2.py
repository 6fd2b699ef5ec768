"""Kueue's kinds in v1beta2, whose names are the internal shape: models and rules.

Rules are those of Kueue's schema and webhooks (its pkg/webhooks), save that a ClusterQueue's lending
limit above its nominal quota and a missing LocalQueue.clusterQueue are refused here, not met later.
"""

import difflib
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from shared.groups import KUEUE
from shared.kinds import constraints
from shared.kinds.kueue_quota import FairSharing, ResourceGroup, check_resource_groups
from shared.kinds.model import (
    Count,
    Int32,
    Labels,
    LabelSelector,
    Model,
    Name,
    Opaque,
    keyed,
)
from shared.kinds.pod import check_template
from shared.kinds.problems import Problems
from shared.kinds.selectors import (
    POD_EFFECTS,
    check_label_selector,
    check_labels,
    check_taints,
    check_tolerations,
)
from shared.quantity import shown
from shared.reject_codes import RejectCode
from shared.resources import PodSet, pod_set_of

GROUP = KUEUE
VERSION = "v1beta2"

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


class FlavorFungibility(Model):
    # `Borrow` and `Preempt` are v1beta1's words for MayStopSearch: the hub cluster serves one object in both.
    when_can_borrow: Literal["Borrow", "MayStopSearch", "TryNextFlavor"] = "MayStopSearch"
    when_can_preempt: Literal["Preempt", "MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class BorrowWithinCohort(Model):
    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: Int32 | None = None


class Preemption(Model):
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrow_within_cohort: BorrowWithinCohort | None = None
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"


class AdmissionScope(Model):
    admission_mode: Literal["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]


class AdmissionCheckRule(Model):
    name: Name
    on_flavors: Annotated[list[Name], Field(max_length=64)] | None = None


class AdmissionChecksStrategy(Model):
    admission_checks: list[AdmissionCheckRule] | None = keyed("name", min_length=1, max_length=64)


class ClusterQueueFields(Model):
    """What both versions of ClusterQueue share."""

    resource_groups: Annotated[list[ResourceGroup], Field(max_length=16)] | None = None
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    preemption: Preemption = Field(default_factory=Preemption)
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    flavor_fungibility: FlavorFungibility = Field(default_factory=FlavorFungibility)


class ClusterQueueSpec(ClusterQueueFields):
    cohort_name: Name | None = None
    concurrent_admission_policy: Opaque | None = None


class ClusterQueue(Model):
    spec: ClusterQueueSpec = Field(default_factory=ClusterQueueSpec)


class LocalQueueSpec(Model):
    cluster_queue: Name | None = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None


class LocalQueue(Model):
    spec: LocalQueueSpec = Field(default_factory=LocalQueueSpec)


class Taint(Model):
    key: str
    value: str | None = None
    effect: str
    time_added: str | None = None


class Toleration(Model):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class ResourceFlavorSpec(Model):
    node_labels: Annotated[Labels, Field(max_length=8)] | None = None
    node_taints: Annotated[list[Taint], Field(max_length=8)] | None = None
    tolerations: Annotated[list[Toleration], Field(max_length=8)] | None = None
    topology_name: Name | None = None


class ResourceFlavor(Model):
    spec: ResourceFlavorSpec = Field(default_factory=ResourceFlavorSpec)


class WorkloadPriorityClass(Model):
    value: Int32
    description: str | None = Field(default=None, max_length=2048)


class CohortSpec(Model):
    parent_name: Name | None = None
    resource_groups: Annotated[list[ResourceGroup], Field(max_length=16)] | None = None
    fair_sharing: FairSharing | None = None


class Cohort(Model):
    spec: CohortSpec = Field(default_factory=CohortSpec)


class AdmissionCheckParameters(Model):
    api_group: str = Field(max_length=253)
    kind: str = Field(max_length=63)
    name: Name


class AdmissionCheckSpec(Model):
    controller_name: str = Field(min_length=1, max_length=253)
    parameters: AdmissionCheckParameters | None = None


class AdmissionCheck(Model):
    spec: AdmissionCheckSpec


class WorkloadPodSet(Model):
    name: str = Field(default="main", max_length=63)
    template: Opaque
    count: Count = 1
    min_count: Count | None = None
    topology_request: Opaque | None = None


class PriorityClassRef(Model):
    group: Literal["kueue.x-k8s.io", "scheduling.k8s.io"]
    kind: Literal["WorkloadPriorityClass", "PriorityClass"]
    name: Name


class WorkloadFields(Model):
    """What both versions of Workload share."""

    pod_sets: list[WorkloadPodSet] = keyed("name", min_length=1, max_length=18)
    queue_name: Name | None = None
    priority: Int32 | None = None
    active: bool = True
    maximum_execution_time_seconds: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class WorkloadSpec(WorkloadFields):
    priority_class_ref: PriorityClassRef | None = None
    preemption_gates: Annotated[list[Opaque], Field(max_length=8)] | None = None


class Workload(Model):
    spec: WorkloadSpec


def check_cluster_queue(content: dict[str, Any], problems: Problems) -> None:
    spec = content["spec"]
    in_cohort = bool(spec.get("cohortName"))
    check_resource_groups(spec.get("resourceGroups"), problems, may_borrow=in_cohort)
    if spec.get("namespaceSelector") is not None:
        check_label_selector(spec["namespaceSelector"], "spec.namespaceSelector", problems)
    fungibility = spec["flavorFungibility"]
    searching = {fungibility["whenCanBorrow"], fungibility["whenCanPreempt"]}
    if "preference" in fungibility and searching != {"TryNextFlavor"}:
        rule = "needs whenCanBorrow and whenCanPreempt to be TryNextFlavor"
        problems.add("spec.flavorFungibility.preference", RejectCode.INVALID_COMBINATION, rule)
    preemption = spec["preemption"]
    borrowing = preemption.get("borrowWithinCohort", {}).get("policy", "Never")
    if preemption["reclaimWithinCohort"] == "Never" and borrowing != "Never":
        rule = "must be Never where reclaimWithinCohort is Never"
        problems.add(
            "spec.preemption.borrowWithinCohort.policy", RejectCode.INVALID_COMBINATION, rule
        )
    _check_on_flavors(spec, problems)


def _check_on_flavors(spec: Mapping[str, Any], problems: Problems) -> None:
    """A check on a flavor that the queue does not have would have no effect."""
    groups = spec.get("resourceGroups") or ()
    flavors = {flavor["name"] for group in groups for flavor in group.get("flavors") or ()}
    strategy = spec.get("admissionChecksStrategy") or {}
    for index, rule in enumerate(strategy.get("admissionChecks") or ()):
        for place, name in enumerate(rule.get("onFlavors") or ()):
            if name not in flavors:
                near = difflib.get_close_matches(name[:80], flavors, n=1, cutoff=0.6)
                hint = f"; did you mean {near[0]}?" if near else ""
                has = f"flavors of spec.resourceGroups: {_listed(flavors)}"
                fault = f"the queue has no flavor {shown(name)}, so the check would have no effect"
                problems.add(
                    f"spec.admissionChecksStrategy.admissionChecks[{index}].onFlavors[{place}]",
                    RejectCode.INVALID_VALUE,
                    f"{fault}{hint} ({has})",
                )


def _listed(names: Collection[str]) -> str:
    first = sorted(names)[:8]
    return ", ".join([*first, "…"] if len(names) > len(first) else first) or "none"


def check_local_queue(content: dict[str, Any], problems: Problems) -> None:
    if "clusterQueue" not in content["spec"]:
        problems.add(
            "spec.clusterQueue", RejectCode.REQUIRED, "a LocalQueue names its ClusterQueue"
        )


def check_flavor(content: dict[str, Any], problems: Problems) -> None:
    spec = content["spec"]
    check_labels(spec.get("nodeLabels", {}), "spec.nodeLabels", problems)
    check_taints(spec.get("nodeTaints"), "spec.nodeTaints", problems, POD_EFFECTS, 8)
    check_tolerations(spec.get("tolerations"), "spec.tolerations", problems)
    if "topologyName" in spec:
        problems.add("spec.topologyName", RejectCode.UNSUPPORTED_VALUE, constraints.NO_TOPOLOGY)


def check_cohort(content: dict[str, Any], problems: Problems) -> None:
    spec = content["spec"]
    check_resource_groups(
        spec.get("resourceGroups"),
        problems,
        may_borrow=bool(spec.get("parentName")),
        of_cohort=True,
    )


# Kueue takes such a Workload and lets it wait: who wrote it may mend it, or the limits of its namespace.
_HINDRANCES: Final = frozenset({"RequestAboveLimit", "QuantityTooLarge"})


def check_workload(content: dict[str, Any], problems: Problems) -> None:
    spec = content["spec"]
    seen = set()
    if "podSets" not in spec:
        problems.add("spec.podSets", RejectCode.REQUIRED, "is required")
    for index, pod_set in enumerate(spec.get("podSets") or ()):
        field = f"spec.podSets[{index}]"
        if pod_set["name"] in seen:
            problems.add(
                f"{field}.name", RejectCode.DUPLICATE, f"a second pod set {pod_set['name']}"
            )
        seen.add(pod_set["name"])
        if pod_set.get("minCount", 0) > pod_set["count"]:
            problems.add(f"{field}.minCount", RejectCode.OUT_OF_RANGE, "must not exceed count")
        constraints.hinder(pod_set, field, problems)
        found = Problems(strict=problems.strict)
        check_template(pod_set["template"], f"{field}.template", found, of_job=False)
        for error in found.found:
            if error.code in _HINDRANCES:
                problems.hindrance = problems.hindrance or error
            else:
                problems.add(error.field, error.code, error.message)
    if "priorityClassRef" in spec and "priority" not in spec:
        problems.add(
            "spec.priority", RejectCode.REQUIRED, "is required where a priority class is given"
        )


def workload_pod_sets(content: dict[str, Any]) -> tuple[PodSet, ...]:
    """The pod sets of a Workload in the internal shape; raises `QuantityTooLarge`."""
    return tuple(
        pod_set_of(
            p["name"], p["count"], p["template"], f"spec.podSets[{i}].template", p.get("minCount")
        )
        for i, p in enumerate(content["spec"]["podSets"])
    )

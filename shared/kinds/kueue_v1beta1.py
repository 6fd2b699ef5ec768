"""Kueue's kinds in v1beta1: what differs from v1beta2, and the way into its names.

The bridge meets objects whose stored form may carry either spelling (our CRDs hold the union), so
each differing kind has a third model that accepts both; `to_internal` settles them and notes a pair
that disagrees as `AmbiguousField`.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from shared.kinds import kueue_v1beta2 as v1beta2
from shared.kinds.model import Model, Name
from shared.kinds.problems import Problems
from shared.reject_codes import RejectCode

VERSION = "v1beta1"

_SOURCES: Final = {
    "kueue.x-k8s.io/workloadpriorityclass": ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}


class ClusterQueueSpec(v1beta2.ClusterQueueFields):
    cohort: Name | None = None
    admission_checks: Annotated[list[Name], Field(max_length=64)] | None = None


class ClusterQueue(Model):
    spec: ClusterQueueSpec = Field(default_factory=ClusterQueueSpec)


class EitherClusterQueueSpec(ClusterQueueSpec, v1beta2.ClusterQueueSpec):
    """Quota and policy of a queue; the fields of v1beta1 and v1beta2."""


class EitherClusterQueue(Model):
    spec: EitherClusterQueueSpec = Field(default_factory=EitherClusterQueueSpec)


class WorkloadSpec(v1beta2.WorkloadFields):
    priority_class_name: str | None = Field(default=None, max_length=253)
    priority_class_source: (
        Literal["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""]
        | None
    ) = None


class Workload(Model):
    spec: WorkloadSpec


class EitherWorkloadSpec(WorkloadSpec, v1beta2.WorkloadSpec):
    """Pods that are admitted together; the fields of v1beta1 and v1beta2."""


class EitherWorkload(Model):
    spec: EitherWorkloadSpec


class AdmissionCheckSpec(v1beta2.AdmissionCheckSpec):
    retry_delay_minutes: Annotated[int, Field(ge=0)] | None = None


class AdmissionCheck(Model):
    spec: AdmissionCheckSpec


def cluster_queue_to_internal(content: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The spec of a ClusterQueue in v1beta2's names, as Kueue converts it."""
    spec = dict(content["spec"])
    _settle(spec, "cohort", "cohortName", spec.pop("cohort", None), problems)
    flat = spec.pop("admissionChecks", None)
    if flat:
        strategy = {"admissionChecks": [{"name": name} for name in flat]}
        _settle(spec, "admissionChecks", "admissionChecksStrategy", strategy, problems)
    fungibility = dict(spec["flavorFungibility"])
    for name in ("whenCanBorrow", "whenCanPreempt"):
        if fungibility[name] in {"Borrow", "Preempt"}:
            fungibility[name] = "MayStopSearch"
    return {"spec": {**spec, "flavorFungibility": fungibility}}


def workload_to_internal(content: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The spec of a Workload in v1beta2's names; a class without a source leaves the number only."""
    spec = dict(content["spec"])
    name = spec.pop("priorityClassName", None)
    source = spec.pop("priorityClassSource", None)
    if name and "priority" not in spec:
        problems.add(
            "spec.priority", RejectCode.REQUIRED, "is required where a priority class is given"
        )
    if name and source:
        group, kind = _SOURCES[source]
        reference = {"group": group, "kind": kind, "name": name}
        _settle(spec, "priorityClassName", "priorityClassRef", reference, problems)
    return {"spec": spec}


def admission_check_to_internal(content: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The spec of an AdmissionCheck; the delay is ignored since Kueue 0.8."""
    return {"spec": {k: v for k, v in content["spec"].items() if k != "retryDelayMinutes"}}


def _settle(
    spec: dict[str, Any], old_name: str, name: str, value: Any, problems: Problems
) -> None:
    if value is None:
        return
    if name in spec and spec[name] != value:
        rule = f"{old_name} and {name} say the same in two versions, and differ; keep one"
        problems.add(f"spec.{old_name}", RejectCode.AMBIGUOUS_FIELD, rule)
    spec[name] = value

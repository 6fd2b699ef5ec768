"""Status of Kueue's kinds: the union of v1beta1's and v1beta2's fields, for the schemas."""

from typing import Annotated

from pydantic import Field

from shared.kinds.model import (
    Condition,
    Count,
    Model,
    Number,
    Opaque,
    Timestamp,
    by_type,
    keyed,
)

Share = Annotated[int, Field(ge=0)]


class ResourceUsage(Model):
    name: str
    total: Number | None = None
    borrowed: Number | None = None


class FlavorUsage(Model):
    name: str
    resources: list[ResourceUsage] = keyed("name", max_length=64)


class AdmissionFairSharingStatus(Model):
    consumed_resources: dict[str, Number] | None = None
    last_update: Timestamp | None = None


class FairSharingStatus(Model):
    weighted_share: Share | None = None
    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None


class QueueCounts(Model):
    conditions: list[Condition] | None = by_type()
    pending_workloads: Count | None = None
    reserving_workloads: Count | None = None
    admitted_workloads: Count | None = None
    flavors_reservation: list[FlavorUsage] | None = keyed("name", max_length=64)
    flavors_usage: list[FlavorUsage] | None = keyed("name", max_length=64)
    fair_sharing: FairSharingStatus | None = None


class ClusterQueueStatus(QueueCounts):
    pending_workloads_status: Opaque | None = None


class LocalQueueStatus(QueueCounts):
    flavor_usage: list[FlavorUsage] | None = keyed("name", max_length=64)
    flavors: list[Opaque] | None = None


class CohortStatus(Model):
    conditions: list[Condition] | None = by_type()
    fair_sharing: FairSharingStatus | None = None


class AdmissionCheckStatus(Model):
    conditions: list[Condition] | None = by_type()


class PodSetAssignment(Model):
    name: str
    flavors: dict[str, str] | None = None
    resource_usage: dict[str, Number] | None = None
    count: Count | None = None
    topology_assignment: Opaque | None = None
    delayed_topology_request: str | None = None


class Admission(Model):
    cluster_queue: str
    pod_set_assignments: list[PodSetAssignment] = keyed("name", max_length=18)


class RequeueState(Model):
    count: Count | None = None
    requeue_at: Timestamp | None = None


class ReclaimablePod(Model):
    name: str
    count: Count


class AdmissionCheckState(Model):
    name: str
    state: str
    last_transition_time: Timestamp
    message: str
    requeue_after_seconds: Count | None = None
    retry_count: Count | None = None
    pod_set_updates: list[Opaque] | None = None


class PodSetRequest(Model):
    name: str
    resources: dict[str, Number] | None = None


class UnhealthyNode(Model):
    name: str


class PreemptionGateState(Model):
    name: str
    position: str | None = None
    last_transition_time: Timestamp | None = None


class WorkloadStatus(Model):
    conditions: list[Condition] | None = by_type()
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: list[ReclaimablePod] | None = keyed("name")
    admission_checks: list[AdmissionCheckState] | None = keyed("name", max_length=64)
    resource_requests: list[PodSetRequest] | None = keyed("name")
    accumulated_past_execution_time_seconds: Count | None = None
    # The misspelling is v1beta1's own.
    accumulated_past_exexcution_time_seconds: Count | None = None
    scheduling_stats: Opaque | None = None
    nominated_cluster_names: Annotated[list[str], Field(max_length=20)] | None = None
    cluster_name: str | None = None
    unhealthy_nodes: list[UnhealthyNode] | None = keyed("name", max_length=8)
    preemption_gates: list[PreemptionGateState] | None = keyed("name", max_length=8)

"""Workloads in the shapes of Kueue's own APIs, and bare ones as executors see them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from hub.api.models.base import ApiCondition, Kubernetes, Labels, Model
from hub.api.models.objects import Manifest
from hub.domain.workloads.states import State


class WorkloadMetadata(Model):
    """What names a Workload. A Job's is called `job-<its name>-<5 digits>`."""

    name: str
    namespace: str
    creation_timestamp: str
    uid: str = ""
    """Of a bare one; a Job's has a label that names the Job's."""
    labels: Labels | None = None
    annotations: Labels | None = None
    owner_references: list[Kubernetes] = []
    generation: int = 0
    deletion_timestamp: str = ""


class WorkloadStatus(Model):
    """Kueue's status of a Workload."""

    conditions: list[ApiCondition]
    admission: Kubernetes | None = None
    admission_checks: list[Kubernetes] = []
    cluster_name: str = ""
    nominated_cluster_names: list[str] = []
    reclaimable_pods: list[Kubernetes] = []
    requeue_state: Kubernetes | None = None
    resource_requests: list[Kubernetes] = []
    scheduling_stats: Kubernetes | None = None
    accumulated_past_execution_time_seconds: int = 0


class KueueWorkload(Model):
    """A Workload as Kueue shows it (v1beta2)."""

    api_version: str
    kind: Literal["Workload"]
    metadata: WorkloadMetadata
    spec: Kubernetes
    status: WorkloadStatus
    origin: str = ""
    """Of one that is kept until its queue is there."""


class ListMetadata(Model):
    """Where a list goes on."""

    continue_: Annotated[str, Field(alias="continue")]


class KueueWorkloadList(Model):
    """A page of Workloads, newest first."""

    api_version: str
    kind: Literal["WorkloadList"]
    metadata: ListMetadata
    items: list[KueueWorkload]
    continue_: Annotated[str, Field(alias="continue")]
    """Asks for the next part, within 15 minutes; empty on the last."""


class PendingWorkloadMetadata(Model):
    """What names a Workload that waits."""

    name: str
    namespace: str
    creation_timestamp: str
    owner_references: list[Kubernetes] = []


class PendingWorkloadPlace(Model):
    """A Workload that waits, and its places, counted from 0."""

    metadata: PendingWorkloadMetadata
    priority: int
    local_queue_name: str
    position_in_cluster_queue: int
    position_in_local_queue: int


class PendingWorkloadsSummary(Model):
    """Kueue's answer to who waits in a queue."""

    kind: Literal["PendingWorkloadsSummary"]
    api_version: str
    metadata: dict[str, Any]
    items: list[PendingWorkloadPlace]


class WorkloadState(Model):
    """How a workload stands, as executors and watchers are told."""

    uid: str
    kind: Literal["Job", "Workload"]
    namespace: str
    name: str
    queue: str
    cluster_queue: str
    state: State
    reason: str
    cluster: str
    epoch: int


class WorkloadChanges(Model):
    """Workloads touched since the last, as one server-sent event tells it."""

    revision: int
    items: list[WorkloadState]


class WorkloadManifest(Manifest):
    """A Workload that no Job owns."""

    api_version: str
    kind: Literal["Workload"]


class WorkloadPatch(Model):
    """What changes of a Workload (RFC 7396); null takes a field away."""

    metadata: Kubernetes | None = None
    spec: Kubernetes | None = None


class WorkloadReport(Model):
    """How far a Workload is (RFC 7396)."""

    metadata: Kubernetes | None = None
    """`uid`: of the one that is meant."""
    status: Kubernetes
    """`conditions`, `admissionChecks`, `reclaimablePods`."""

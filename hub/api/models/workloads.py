"""Workloads in the shapes of Kueue's own APIs, and bare ones as executors see them."""

from typing import Annotated, Literal

from pydantic import Field

from hub.api.models.base import ApiCondition, Kubernetes, Labels, Model
from hub.api.models.objects import Manifest
from hub.domain.workloads.states import State
from shared.documents import Json


class WorkloadMetadata(Model):
    """The name of a Workload. A Job's is called `job-<its name>-<5 digits>`."""

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
    """The position at which a list continues."""

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
    """The name of a waiting Workload."""

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
    metadata: Json
    items: list[PendingWorkloadPlace]


class WorkloadState(Model):
    """The state of a workload for executors and watchers."""

    uid: str
    kind: str
    """Job, Workload, or another kind that the hub dispatches, such as JobSet."""
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
    """The changes of a Workload (RFC 7396); null removes a field."""

    metadata: Kubernetes | None = None
    spec: Kubernetes | None = None


class WorkloadReport(Model):
    """The progress of a Workload (RFC 7396)."""

    metadata: Kubernetes | None = None
    """`uid`: the expected one."""
    status: Kubernetes
    """`conditions`, `admissionChecks`, `reclaimablePods`."""

"""Queues: quota, what is charged, what waits."""

from typing import Literal

from hub.api.models.base import ApiCondition, Body, Model, example_of
from shared.documents import Json


class FlavorQuota(Model):
    """One resource in one flavor, as Kubernetes quantities; null is without limit."""

    flavor: str
    resource: str
    nominal: str | None
    used: str | None
    borrowed: str | None
    available: str | None
    potential: str | None
    """With all that it may borrow."""
    borrowing_limit: str | None
    lending_limit: str | None
    subtree: str | None = None
    """Of a cohort: the sum of all below."""
    admitted: str | None = None
    """Of a ClusterQueue: what of it may run, open checks apart."""


class QueueFairSharing(Model):
    """The queue's weight, and what it has used of late."""

    weight: str
    admission_fair_sharing_status: Json | None


class LocalQueueFigures(Model):
    """A LocalQueue of a ClusterQueue."""

    namespace: str
    name: str
    cluster_queue: str
    origin: str
    pending: int
    reserving: int
    """Workloads that hold quota."""
    admitted: int
    """Those of them that may run."""
    fair_sharing: QueueFairSharing
    conditions: list[ApiCondition]


class LocalQueueDetail(LocalQueueFigures):
    """One LocalQueue."""

    kind: Literal["LocalQueue"]


class ClusterQueueFigures(Model):
    """A ClusterQueue with quota, what is charged and what waits."""

    kind: Literal["ClusterQueue"]
    name: str
    origin: str
    strategy: Literal["StrictFIFO", "BestEffortFIFO", ""]
    cohort: str
    stop_policy: str
    state: Literal["Ready", "Stopped", "Inactive", "OverQuota"]
    pending: int
    reserving: int
    admitted: int
    weight: str
    """In fair sharing: a queue of weight 2 may borrow twice as much before it counts as much."""
    weighted_share: int
    """In thousandths."""
    quotas: list[FlavorQuota]
    local_queues: list[LocalQueueFigures]
    not_enforced: list[str]
    """Fields that are accepted and change nothing."""
    conditions: list[ApiCondition]
    error: str = ""
    """Why it can not be read."""


class CohortFigures(Model):
    """A cohort with the quota of all below it."""

    kind: Literal["Cohort"]
    name: str
    parent: str
    queues: list[str]
    cohorts: list[str]
    quotas: list[FlavorQuota]
    weighted_share: int


class QueueList(Model):
    """All ClusterQueues with their LocalQueues, and cohorts."""

    items: list[ClusterQueueFigures]
    cohorts: list[CohortFigures]


class QueuePreviewJob(Model):
    """A job that holds quota of a queue."""

    namespace: str
    name: str
    state: str
    cluster: str


class QueuePreview(Model):
    """Preview of a stop, a drain or a resumption of a queue. Nothing was changed."""

    kind: Literal["ClusterQueue", "LocalQueue"]
    namespace: str
    """Empty of a ClusterQueue."""
    name: str
    carried_out: Literal[False]
    stop_policy: str
    """As it is now."""
    would_be: str
    """The stopPolicy that it would have."""
    pending: int
    """Jobs that wait: they go on waiting, or are considered again."""
    evicted: int
    """Jobs that hold quota and would be evicted; they requeue. Jobs that are being withdrawn do not count."""
    left: int
    """Jobs that hold quota and would run on; those that are being withdrawn do not count."""
    jobs: list[QueuePreviewJob]
    """Some of those, the latest first."""


class QueueStop(Body):
    """Whether admitted jobs continue."""

    model_config = example_of({"drain": True})

    drain: bool | None = None
    """Also withdraw admitted jobs: it waits again."""

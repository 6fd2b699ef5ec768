"""Queues: quota, usage, waiting workloads."""

from roadstead.models.objects import Condition, Metadata
from roadstead.models.record import Json, Record, record_field


class QuotaUse(Record):
    """Quota of one resource in one flavor, as quantities; None is unlimited."""

    flavor: str
    resource: str
    nominal: str | None = None
    used: str = "0"
    admitted: str = "0"
    borrowed: str = "0"
    available: str | None = None
    potential: str | None = None
    borrowing_limit: str | None = None
    lending_limit: str | None = None
    subtree: str | None = None  # of a cohort: the sum of all below


class QueuePreviewJob(Record):
    """A job that holds quota of a queue."""

    namespace: str
    name: str
    state: str
    cluster: str = ""


class QueuePreview(Record):
    """Preview of a stop, a drain or a resumption of a queue: nothing was changed.

    `pending` jobs wait; `evicted` ones would be requeued, `left` ones would run on; `jobs`: some of those.
    """

    kind: str
    namespace: str = ""
    name: str
    carried_out: bool = False
    stop_policy: str
    would_be: str
    pending: int = 0
    evicted: int = 0
    left: int = 0
    jobs: tuple[QueuePreviewJob, ...] = ()


class LocalQueue(Record):
    """A LocalQueue of a ClusterQueue."""

    kind: str = "LocalQueue"
    namespace: str
    name: str
    cluster_queue: str = ""
    origin: str = ""
    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    fair_sharing: Json = record_field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()

    @property
    def weight(self) -> str:
        """In admission fair sharing."""
        return str(self.fair_sharing.get("weight") or "1")

    @property
    def consumed(self) -> dict[str, str]:
        """Resources that it used of late, decayed by age."""
        told = self.fair_sharing.get("admissionFairSharingStatus") or {}
        return dict(told.get("consumedResources") or {})


class ClusterQueue(Record):
    """A queue with its quota and its LocalQueues. `error`: why it is unreadable, if it is."""

    kind: str = "ClusterQueue"
    name: str
    origin: str = ""
    strategy: str = ""
    cohort: str = ""
    stop_policy: str = ""
    state: str = ""
    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    weight: str = "1"
    weighted_share: int = 0
    quotas: tuple[QuotaUse, ...] = ()
    local_queues: tuple[LocalQueue, ...] = ()
    not_enforced: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    error: str = ""


class PendingWorkload(Record):
    """A waiting workload, as in Kueue's visibility API; positions are from 0."""

    metadata: Metadata
    priority: int = 0
    local_queue_name: str = ""
    position_in_cluster_queue: int
    position_in_local_queue: int

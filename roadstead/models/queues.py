"""Queues: quota, what is used of it, who waits."""

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


class LocalQueue(Record):
    """An entrance of a namespace to a ClusterQueue."""

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


class ClusterQueue(Record):
    """A queue with its quota and its entrances. `error`: why it can not be read, where that is so."""

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
    weighted_share: int = 0
    quotas: tuple[QuotaUse, ...] = ()
    local_queues: tuple[LocalQueue, ...] = ()
    not_enforced: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    error: str = ""


class PendingWorkload(Record):
    """Who waits in a queue, as Kueue's visibility API has it; positions are from 0."""

    metadata: Metadata
    priority: int = 0
    local_queue_name: str = ""
    position_in_cluster_queue: int
    position_in_local_queue: int

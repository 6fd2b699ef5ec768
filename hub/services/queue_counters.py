"""What happens to workloads, counted for Prometheus where it is decided, under Kueue's names.

Counters begin at 0 with each process; what the leader decides, the leader counts.
"""

from typing import Final

from prometheus_client import Counter, Histogram

_WAITS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240)
_QUEUE: Final = ("cluster_queue",)
ADMITTED: Final = Counter("roadstead_admitted_workloads", "Workloads admitted", _QUEUE)
ADMISSION_WAIT: Final = Histogram(
    "roadstead_admission_wait_time_seconds",
    "From being queued to being admitted",
    _QUEUE,
    buckets=_WAITS,
)
QUOTA_RESERVED: Final = Counter(
    "roadstead_quota_reserved_workloads", "Workloads that quota was reserved for", _QUEUE
)
QUOTA_WAIT: Final = Histogram(
    "roadstead_quota_reserved_wait_time_seconds",
    "From being queued to having quota reserved",
    _QUEUE,
    buckets=_WAITS,
)
EVICTED: Final = Counter(
    "roadstead_evicted_workloads",
    "Workloads evicted; the cause says what deactivated one",
    ("cluster_queue", "reason", "underlying_cause"),
)
PREEMPTED: Final = Counter(
    "roadstead_preempted_workloads",
    "Workloads preempted, by the queue they made room for and why",
    ("preempting_cluster_queue", "reason"),
)


def reserved(queue: str, waited_s: float) -> None:
    """Quota was reserved for one workload."""
    QUOTA_RESERVED.labels(queue).inc()
    QUOTA_WAIT.labels(queue).observe(waited_s)


def admitted(queue: str, waited_s: float) -> None:
    """One workload was admitted."""
    ADMITTED.labels(queue).inc()
    ADMISSION_WAIT.labels(queue).observe(waited_s)


def evicted(queue: str, reason: str, cause: str = "") -> None:
    """One workload was evicted."""
    EVICTED.labels(queue, reason, cause).inc()


def preempted(queue: str, reason: str, count: int = 1) -> None:
    """Workloads were told to make room for one of `queue`."""
    PREEMPTED.labels(queue, reason).inc(count)

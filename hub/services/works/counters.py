"""Counters of workload events for Prometheus, counted at the decision, under Kueue's names.

Counters begin at 0 with each process; what the leader decides, the leader counts. On the path of every
job are sums by queue alone: a labelled histogram of the client library would cost more than a placement.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client import REGISTRY, Counter
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

_BOUNDS: Final = (
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0),
    *(320.0, 640.0, 1280.0, 2560.0, 5120.0, 10240.0),
)
_QUEUE: Final = ("cluster_queue",)


class WaitTimes(Collector):
    """A histogram by ClusterQueue, fed with many times at once. Fed in the event loop alone."""

    def __init__(self, name: str, told: str) -> None:
        self._name, self._told = name, told
        self._counts: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, queue: str, waits_s: Iterable[float]) -> None:
        """Add the times of some workloads of one queue."""
        counts = self._counts.setdefault(queue, [0] * (len(_BOUNDS) + 1))
        total = self._sums.get(queue, 0.0)
        for waited_s in waits_s:
            counts[bisect_left(_BOUNDS, waited_s)] += 1
            total += waited_s
        self._sums[queue] = total

    def collect(self) -> Iterable[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._told, labels=_QUEUE)
        names = [*map(str, _BOUNDS), "+Inf"]
        for queue, counts in list(self._counts.items()):
            buckets = list(zip(names, accumulate(counts), strict=True))
            family.add_metric((queue,), buckets, self._sums[queue])
        return [family]


ADMITTED: Final = Counter("roadstead_admitted_workloads", "Workloads admitted", _QUEUE)
ADMISSION_WAIT: Final = WaitTimes(
    "roadstead_admission_wait_time_seconds", "From being queued to being admitted"
)
QUOTA_RESERVED: Final = Counter(
    "roadstead_quota_reserved_workloads", "Workloads that quota was reserved for", _QUEUE
)
QUOTA_WAIT: Final = WaitTimes(
    "roadstead_quota_reserved_wait_time_seconds", "From being queued to having quota reserved"
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
DOUBLE_RUNS: Final = Counter(
    "roadstead_double_run",
    "Epochs of jobs that ran beside a later one, as their on-cluster-loss allows",
)
CYCLES: Final = Counter(
    "roadstead_scheduling_cycles", "Scheduling cycles completed by a hub that leads and may decide"
)
REGISTRY.register(ADMISSION_WAIT)
REGISTRY.register(QUOTA_WAIT)


def reserved(waits_s: Mapping[str, Sequence[float]]) -> None:
    """Quota was reserved for workloads that had waited so long, by ClusterQueue."""
    for queue, waits in waits_s.items():
        QUOTA_RESERVED.labels(queue).inc(len(waits))
        QUOTA_WAIT.observe(queue, waits)


def admitted(waits_s: Mapping[str, Sequence[float]]) -> None:
    """Workloads were admitted that had waited so long, by ClusterQueue."""
    for queue, waits in waits_s.items():
        ADMITTED.labels(queue).inc(len(waits))
        ADMISSION_WAIT.observe(queue, waits)


def evicted(queue: str, reason: str, cause: str = "") -> None:
    """One workload was evicted."""
    EVICTED.labels(queue, reason, cause).inc()


def preempted(queue: str, reason: str) -> None:
    """One workload was told to make room for one of `queue`."""
    PREEMPTED.labels(queue, reason).inc()


def double_run() -> None:
    """An earlier epoch of a job was found to have run beside the present one."""
    DOUBLE_RUNS.inc()


def cycle() -> None:
    """A hub that leads and may decide has completed a cycle: also one that placed nothing."""
    CYCLES.inc()

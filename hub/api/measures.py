"""Metrics in `/metrics` beyond the process's own: requests, turns of the loops, the fleet."""

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge as Level,
    Histogram,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hub.services.questions.gauges import Gauge
from shared.documents import JsonView

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
REQUESTS: Final = Histogram(
    "roadstead_http_request_seconds",
    "Time to the first byte of a reply",
    ("method", "route", "status"),
    buckets=_BUCKETS,
)
TURNS: Final = Histogram(
    "roadstead_loop_turn_seconds", "Time of one turn of a loop", ("loop",), buckets=_BUCKETS
)
FAULTS: Final = Counter("roadstead_loop_faults", "Turns of a loop that failed", ("loop",))
HANDSHAKES: Final = Counter(
    "roadstead_tls_handshakes", "TLS connections, by outcome of the handshake", ("outcome",)
)
CERTIFICATE_LOADS: Final = Counter(
    "roadstead_tls_certificate_loads",
    "Changed certificate files, taken or refused; if refused, the earlier ones stay",
    ("outcome",),
)
for _outcome in ("taken", "refused"):  # an alert sees the first one only beside an earlier 0
    CERTIFICATE_LOADS.labels(_outcome)
CREDENTIALS: Final = Counter(
    "roadstead_agent_credentials",
    "Credentials of agents, replaced, or reused after their replacement",
    ("event",),
)
for _event in ("replaced", "reused"):
    CREDENTIALS.labels(_event)
LIMITED: Final = Counter("roadstead_http_limited", "Throttled requests, by budget", ("budget",))
LOG_STREAMS: Final = Level("roadstead_log_streams", "Open log streams of this process")
LOG_LINES: Final = Counter("roadstead_log_lines", "Log lines sent to clients")
LOG_STREAMS_ENDED: Final = Counter(
    "roadstead_log_streams_ended", "Ended log streams, by reason", ("reason",)
)
CERTIFICATE_DAYS: Final = Level(
    "roadstead_tls_certificate_days", "Days until a certificate in use expires", ("certificate",)
)


def observe_turn(loop: str, seconds: float, fault: BaseException | None) -> None:
    """Count one turn of a loop: what `shared.loop` calls its observer with."""
    TURNS.labels(loop).observe(seconds)
    faults = FAULTS.labels(loop)
    if fault is not None:
        faults.inc()


def exposition(overview: JsonView, gauges: Sequence[Gauge] = ()) -> bytes:
    """Prometheus' text of all figures; `overview` is the answer of `/v1/overview`, `gauges` the others."""
    fleet = CollectorRegistry()
    fleet.register(_Fleet(overview))
    fleet.register(_Queues(gauges))
    return generate_latest(REGISTRY) + generate_latest(fleet)


class _Fleet(Collector):
    """Gauges read from the store at the moment of asking."""

    def __init__(self, overview: JsonView) -> None:
        self._overview = overview

    def collect(self) -> Iterable[Metric]:
        jobs = GaugeMetricFamily("roadstead_jobs", "Jobs by state", labels=("state",))
        for state, count in self._overview["jobs"].items():
            jobs.add_metric((state,), count)
        clusters = GaugeMetricFamily("roadstead_clusters", "Members by state", labels=("state",))
        for state, count in self._overview["clusters"].items():
            if state != "total":
                clusters.add_metric((state,), count)
        revision = GaugeMetricFamily("roadstead_revision", "Newest revision of the change feed")
        revision.add_metric((), self._overview["revision"])
        return (jobs, clusters, revision)


class _Queues(Collector):
    """The gauges of `hub.services.questions.gauges`."""

    def __init__(self, gauges: Sequence[Gauge]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        for gauge in self._gauges:
            family = GaugeMetricFamily(gauge.name, gauge.help, labels=gauge.labels)
            for labels, value in gauge.samples:
                family.add_metric(labels, value)
            yield family

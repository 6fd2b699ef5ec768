"""A load to play: who arrives when, asks for what, and how long it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.documents import Json
from shared.resources import PodSet, Resources

MICROSECONDS: Final = 1_000_000
MOST: Final = 2_000_000  # workloads of one load


@dataclass(frozen=True, slots=True)
class Kind:
    """Workloads that are alike but for their time. `runtime` in microseconds."""

    name: str  # the class by which figures are reported
    priority: int
    runtime: int
    pod_sets: tuple[PodSet, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """One workload. `at`: microseconds after the start."""

    at: int
    name: str
    namespace: str
    local_queue: str
    kind: Kind


@dataclass(slots=True)
class Load:
    """Arrivals in order of time, and the manifests of queues that the load brings along."""

    arrivals: list[Arrival] = field(default_factory=list)
    manifests: list[Json] = field(default_factory=list)

    def sort(self) -> None:
        """Equal times keep the order in which they were written."""
        self.arrivals.sort(key=lambda a: a.at)


def pod_set(requests: Mapping[str, int], count: int, least: int | None = None) -> PodSet:
    """The one pod set of a workload of a load."""
    return PodSet(name="main", count=count, requests=Resources(requests), min_count=least)

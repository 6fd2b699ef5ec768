"""What a placement rule is: a filter says why a cluster may not, a preference says how good it is.

Filters look at one cluster; their verdicts depend on constraints alone, so equal constraints are
sieved once per cycle. Room on nodes is not a filter but an array (`hub.domain.fleet.free_capacity`): it
changes with every placement. Preferences are array rules: see `hub.domain.placement.scoring.preferences`.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection, Verdict
from hub.domain.workloads.demand import FOR_GOOD, Constraints

_NAMED: Final = 5  # clusters in a message


class Filter(Protocol):
    """One reason for which a cluster may not take a workload."""

    @property
    def name(self) -> str: ...

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        """Say why `cluster` may not, or None when it may."""
        ...


@dataclass(frozen=True, slots=True)
class Sieved:
    """Clusters that may, and for each other one the first rule that said no."""

    passed: frozenset[str]
    rejected: tuple[Verdict, ...]
    again_at: dt.datetime | None = None  # the first instant at which time alone changes this


def sieve(
    filters: Sequence[Filter],
    constraints: Constraints,
    clusters: Iterable[Cluster] | Mapping[str, Cluster],
    now: dt.datetime,
) -> Sieved:
    """Which clusters pass all filters, in order; the others with their first rejection."""
    listed = clusters.values() if isinstance(clusters, Mapping) else clusters
    passed: set[str] = set()
    rejected: list[Verdict] = []
    for cluster in listed:
        rejection = first_rejection(filters, constraints, cluster, now)
        if rejection is None:
            passed.add(cluster.name)
        else:
            rejected.append(Verdict(cluster.name, rejection))
    coming = [until for _, until in constraints.set_aside if now < until < FOR_GOOD]
    held = _held(rejected, now)
    if held is not None and held.hold_until is not None and passed:
        rejected += [Verdict(name, held) for name in passed]
        passed.clear()
        coming.append(held.hold_until)
    return Sieved(
        frozenset(passed),
        tuple(sorted(rejected, key=lambda v: v.cluster)),
        min(coming, default=None),
    )


def _held(rejected: Sequence[Verdict], now: dt.datetime) -> Rejection | None:
    """A rejection that keeps the workload from other clusters too, named after the clusters it is about."""
    held = [v for v in rejected if (v.rejection.hold_until or now) > now]
    if not held:
        return None
    names = ", ".join(sorted(verdict.cluster for verdict in held)[:_NAMED])
    return held[0].rejection._replace(message=f"waits a moment for the report of {names}")


def first_rejection(
    filters: Sequence[Filter], constraints: Constraints, cluster: Cluster, now: dt.datetime
) -> Rejection | None:
    """The first filter that says no, in its words."""
    for rule in filters:
        rejection = rule.reject(constraints, cluster, now)
        if rejection is not None:
            return rejection
    return None

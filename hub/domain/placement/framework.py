"""Interfaces of placement rules: a filter rejects a cluster with a reason, a preference scores it.

Filters look at one cluster; their verdicts depend on constraints alone, so equal constraints are
sieved once per cycle. Room on nodes is not a filter but an array (`hub.domain.fleet.free_capacity`): it
changes with every placement. Preferences are array rules: see `hub.domain.placement.scoring.preferences`.
"""

import datetime as dt
from collections.abc import Container, Iterable, Mapping, Sequence
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
    awaited: tuple[Verdict, ...] = ()  # those whose rejection may hold the workload (`hold_until`)


def sieve(
    filters: Sequence[Filter],
    constraints: Constraints,
    clusters: Iterable[Cluster] | Mapping[str, Cluster],
    now: dt.datetime,
) -> Sieved:
    """The clusters that pass all filters, in order; the others with their first rejection."""
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
    rejected.sort(key=lambda v: v.cluster)
    return Sieved(
        frozenset(passed),
        tuple(rejected),
        min(coming, default=None),
        tuple(v for v in rejected if (v.rejection.hold_until or now) > now),
    )


def held_back(sieved: Sieved, could_hold: Container[str]) -> Sieved:
    """Keep a workload from all clusters while those are awaited that could hold it were they empty.

    No other filter rejects an awaited cluster: the filter that awaits reports runs last.
    """
    held = [v for v in sieved.awaited if v.cluster in could_hold]
    if not held or not sieved.passed:
        return sieved
    names = ", ".join(verdict.cluster for verdict in held[:_NAMED])
    why = held[0].rejection._replace(message=f"waits a moment for the report of {names}")
    rejected = [*sieved.rejected, *(Verdict(name, why) for name in sieved.passed)]
    return Sieved(
        frozenset(),
        tuple(sorted(rejected, key=lambda v: v.cluster)),
        min(at for at in (sieved.again_at, why.hold_until) if at is not None),
    )


def first_rejection(
    filters: Sequence[Filter], constraints: Constraints, cluster: Cluster, now: dt.datetime
) -> Rejection | None:
    """The first filter that says no, in its words."""
    for rule in filters:
        rejection = rule.reject(constraints, cluster, now)
        if rejection is not None:
            return rejection
    return None

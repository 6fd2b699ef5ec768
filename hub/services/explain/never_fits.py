"""Warnings for an accepted job that no member could ever hold, with the nearest miss.

Answered from the scheduler's index, so on the leader only, without a query; equal jobs are looked at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.fleet.node_layout import Layout
from hub.domain.placement.never_fits import why_never
from hub.domain.quota.declared import Flavor
from hub.domain.workloads.demand import kind_constraint, read_constraints
from hub.services.index.index import ScheduleIndex
from hub.services.reading.draft import Draft, read_by_the_hub
from shared.errors import Rejected

MOST_LOOKED_AT: Final = 20  # distinct jobs of one request
_REMEMBERED: Final = 1000
_Alike = tuple[str, str, tuple[tuple[str, str], ...]]  # kind, shape, restrictions


class Warnings:
    """Warnings by what makes jobs equal; forgotten when the fleet, what it serves or a flavor changes."""

    def __init__(self, find_index: Callable[[], ScheduleIndex | None]) -> None:
        self._find_index = find_index
        self._layout: Layout | None = None
        self._flavors: dict[str, Flavor] = {}
        self._served: list[tuple[str, int, frozenset[str] | None]] = []
        self._known: dict[_Alike, str] = {}

    def of(self, drafts: Sequence[Draft | Rejected]) -> dict[int, str]:
        """By place of those of `drafts` that no member could ever hold, what is to be said."""
        index = self._find_index()
        if index is None:
            return {}
        self._follow(index)
        told: dict[int, str] = {}
        left = MOST_LOOKED_AT
        for place, document in enumerate(drafts):
            if isinstance(document, Rejected):
                continue
            given = document.child or document  # of a CronJob its Jobs
            if not given.is_job:
                continue
            key = (_kind(given), given.shape, _restrictions(given))
            if key not in self._known:
                if not left:
                    continue
                left -= 1
                self._known[key] = _look(given, index)
            if self._known[key]:
                told[place] = self._known[key]
        return told

    def _follow(self, index: ScheduleIndex) -> None:
        layout = index.members.room.layout
        served = [(n, c.protocol, c.kinds) for n, c in index.members.clusters.items()]
        same = layout is self._layout and index.routes.flavors == self._flavors
        if not same or served != self._served or len(self._known) > _REMEMBERED:
            self._layout, self._flavors = layout, dict(index.routes.flavors)
            self._served = served
            self._known.clear()


def _kind(given: Draft) -> str:
    return kind_constraint(given.parsed.api_version, given.parsed.kind)


def _restrictions(given: Draft) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(read_by_the_hub(given.parsed.annotations).items()))


def _look(given: Draft, index: ScheduleIndex) -> str:
    pod_sets = given.parsed.pod_sets
    layout = index.members.room.layout
    clusters = {n: c for n, c in index.members.clusters.items() if n in layout.position}
    catalog = FlavorCatalog(index.routes.flavors, index.keys.since)
    asks = [catalog.ask_widely(p)._replace(growing=layout.sites is not None) for p in pod_sets]
    try:
        constraints = read_constraints(dict(_restrictions(given)), None, None, pod_sets)
        constraints = replace(constraints, kind=_kind(given))
        why = why_never(pod_sets, asks, constraints, clusters, layout)
    except (Rejected, ValueError):
        return ""  # what can not be read is told by whoever considers it
    return f"no member could ever hold it: {why}" if why else ""

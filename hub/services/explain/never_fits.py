"""What is said at once of a job that was accepted: that no member could ever hold it, and how near one comes.

Answered from the scheduler's index, so on the leader only, without a query; equal jobs are looked at once.
"""

from collections.abc import Callable, Sequence
from typing import Final

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.fleet.node_layout import Layout
from hub.domain.placement.never_fits import why_never
from hub.domain.workloads.demand import read_constraints
from hub.services.index.index import ScheduleIndex
from hub.services.reading.draft import Draft, read_by_the_hub
from shared.errors import Rejected

MOST_LOOKED_AT: Final = 20  # distinct jobs of one request
_REMEMBERED: Final = 1000


class Warnings:
    """Warnings by what makes jobs equal; forgotten when the fleet changes."""

    def __init__(self, find_index: Callable[[], ScheduleIndex | None]) -> None:
        self._find_index = find_index
        self._layout: Layout | None = None
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}

    def of(self, drafts: Sequence[Draft | Rejected]) -> dict[int, str]:
        """By place of those of `drafts` that no member could ever hold, what is to be said."""
        index = self._find_index()
        if index is None:
            return {}
        self._follow(index)
        told: dict[int, str] = {}
        left = MOST_LOOKED_AT
        for place, given in enumerate(drafts):
            if isinstance(given, Rejected) or not given.is_job:
                continue
            key = (given.shape, _restrictions(given))
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
        if layout is not self._layout or len(self._known) > _REMEMBERED:
            self._layout = layout
            self._known.clear()


def _restrictions(given: Draft) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(read_by_the_hub(given.parsed.annotations).items()))


def _look(given: Draft, index: ScheduleIndex) -> str:
    pod_sets = given.parsed.pod_sets
    layout = index.members.room.layout
    clusters = {n: c for n, c in index.members.clusters.items() if n in layout.position}
    catalog = FlavorCatalog({}, index.keys.since)
    asks = [catalog.ask(p)._replace(growing=layout.sites is not None) for p in pod_sets]
    try:
        constraints = read_constraints(dict(_restrictions(given)), None, None, pod_sets)
        why = why_never(pod_sets, asks, constraints, clusters, layout)
    except (Rejected, ValueError):
        return ""  # what can not be read is told by whoever considers it
    return f"no member could ever hold it: {why}" if why else ""

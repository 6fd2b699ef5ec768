"""Everything the live page shows, read in one snapshot."""

from typing import Any

from hub.services import clusters, queues
from hub.services.limits import Limits
from hub.store import drift, front_page, jobs
from hub.store.unit import Unit

MAX_JOBS = 100
MAX_DRIFTS = 50


def read_front_page(unit: Unit, limits: Limits) -> dict[str, Any]:
    """{"at", "states", "jobs", "clusters", "queues", "drifts"}; jobs that wait or run come first."""
    found = front_page.unfinished(unit, MAX_JOBS)
    if len(found) < MAX_JOBS:
        found += front_page.ended(unit, MAX_JOBS - len(found))
    return {
        "at": unit.now,
        "states": jobs.count_by_state(unit),
        "jobs": found,
        "clusters": clusters.list_clusters(unit, limits)["items"],
        "queues": queues.list_queues(unit)["items"],
        "drifts": drift.list_drifted(unit, None, MAX_DRIFTS),
    }

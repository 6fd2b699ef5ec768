"""What a placement with roadstead.dev/per-object says in its status: of each Job, where it was put by itself.

Jobs alone are scheduled one by one, by their queues. Other objects go together, to all clusters of the
policy, for Jobs need them wherever they run.
"""

from collections.abc import Iterator
from typing import Final

from hub.domain.workloads.states import TERMINAL
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.place_jobs import is_per_object
from hub.services.placements.selecting import NAMESPACE, resource_of_job
from hub.store.records.workloads import Workload
from shared import labels
from shared.documents import Json

MOST: Final = 100  # Jobs named: those that wait, then the newest
FIELD: Final = "perObject"


def tell(status: Json, outcome: ReconcileOutcome) -> None:
    """Name the Jobs in a status that is being made."""
    if not is_per_object(outcome.row.annotations):
        return
    jobs = sorted(outcome.jobs, key=lambda job: (not _waits(job), -job.created_at.timestamp()))
    if jobs:
        status[FIELD] = [_entry(job) for job in jobs[:MOST]]


def notices(outcome: ReconcileOutcome) -> Iterator[str]:
    """What the annotation changes nothing about."""
    others = [row for row in outcome.selection.objects.values() if row.kind != NAMESPACE[1]]
    if is_per_object(outcome.row.annotations) and others:
        yield (
            f"metadata.annotations[{labels.PER_OBJECT}]: counts for Jobs, each of which gets its own "
            f"cluster; the other objects go together, to all clusters of the policy ({len(others)} here)"
        )


def _waits(job: Workload) -> bool:
    return not job.cluster and job.state not in TERMINAL


def _entry(job: Workload) -> Json:
    told: Json = resource_of_job(job).named()
    if job.cluster:
        told["clusterName"] = job.cluster
    reason = job.reason or ("Scheduled" if job.cluster else "Waiting")
    return told | {"reason": reason} | ({"message": job.message} if job.message else {})

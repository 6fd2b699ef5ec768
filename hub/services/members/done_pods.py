"""Quota of a Job's pods that succeeded and will not be replaced: it is free once the agent has said so."""

from hub.domain.workloads.reclaimable_pods import without_done_pods
from hub.store.records.works import StandingWork
from shared.documents import Json
from shared.wire.agent_v1 import JobStatus


def charged_after(job: JobStatus | None, work: StandingWork) -> Json | None:
    """The admission of a running job after this status of it; None where it stays."""
    if job is None or not job.succeeded:
        return None
    admission = work.admission()
    if len(admission.get("podSets") or ()) != 1:
        return None
    left = without_done_pods(admission, work.completions, job.succeeded)
    return None if left == admission else left

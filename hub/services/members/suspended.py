"""Jobs that ran and that their member's queue manager has suspended since."""

from hub.store.records.works import StandingWork
from shared.wire.agent_v1 import JobStatus


def is_suspended(job: JobStatus, work: StandingWork) -> bool:
    """Tell if the Job waits, without pods, in the LocalQueue of its member."""
    return job.suspended and not job.active and bool(work.options.queue)

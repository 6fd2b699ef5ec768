"""A failure that is tried again: rule 21 of docs/explain/exactly-once.md."""

import datetime as dt
from typing import Final

from hub.domain.workloads.states import State, Transition, WithdrawTo
from hub.services.members.verdicts.judgement import RECORD, Judgement
from hub.services.members.verdicts.plain_text import REASON_CHARS, plain
from hub.services.works.avoiding import set_aside
from hub.services.works.retries import RETRYING, decided, may_retry
from hub.store.records.workloads import MoveColumns
from hub.store.records.works import StandingWork
from shared.wire.agent_v1 import JobStatus

RETRY_SET_ASIDE: Final = dt.timedelta(seconds=30)
_MOST: Final = 2**31 - 1


def failures(job: JobStatus, work: StandingWork) -> int:
    """The number of failed pods of the job, over all its epochs."""
    before = (work.previous().get("failed") or 0) if job.failed else 0
    return min(_MOST, (work.failed or 0) + max(0, job.failed - before))


def is_allowed(job: JobStatus, work: StandingWork) -> bool:
    """True if a result is a failure after which the job's annotations allow another epoch."""
    # Hubs of the releases before 2026_11_30 write their decision as the reason alone.
    before = work.state == State.WITHDRAWING and work.workload_reason == RETRYING
    known = work.is_retried() or before  # decided by an earlier report
    if known and job.result == "Failed":
        return True
    return may_retry(job, work.attempt(), work.annotations())


def is_wanted(work: StandingWork) -> bool:
    """True if a job that may be retried waits for that, or is to be held; no other end was requested."""
    return (work.withdraw_to or WithdrawTo.PENDING) in {WithdrawTo.PENDING, WithdrawTo.HELD}


def retry_later(job: JobStatus, work: StandingWork, cluster: str, now: dt.datetime) -> Judgement:
    """It leaves for another reason: the decision is kept, as a later report may name no failures."""
    columns = decided(work)
    if not columns:
        return RECORD
    columns["set_aside"] = set_aside(work.set_aside(), cluster, now, RETRY_SET_ASIDE)
    return Judgement(decided=columns, detail=_failed(job, work, cluster), cause=_code(job))


def retry(job: JobStatus, work: StandingWork, cluster: str, now: dt.datetime) -> Judgement:
    """Take back what is left of a failed epoch; the next begins when that is confirmed."""
    columns: MoveColumns = {
        "withdraw_to": WithdrawTo.PENDING,
        "reason": RETRYING,
        "message": _failed(job, work, cluster),
        "cause": _code(job),
        "failed": failures(job, work),
        "set_aside": set_aside(work.set_aside(), cluster, now, RETRY_SET_ASIDE),
        **decided(work),
    }
    return Judgement(transition=Transition.WITHDRAW, columns=columns, action="Withdraw")


def _failed(job: JobStatus, work: StandingWork, cluster: str) -> str:
    return plain(f"epoch {work.epoch} failed in {cluster} ({_code(job)}): {plain(job.message)}")


def _code(job: JobStatus) -> str:
    """The reason that the member gives for the failure."""
    return plain(job.reason, REASON_CHARS) or "Failed"

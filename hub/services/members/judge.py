"""Judges one observation: record it, move the workload, withdraw the work, or reject it.

It decides and writes nothing.

The lattice (invariants R-06 and R-07): an older epoch moves nothing, a terminal result is final for its
epoch, and a job is given back to its queue only when the member has confirmed that nothing of it is
left, save a job that has itself ended.
"""

import datetime as dt
from dataclasses import replace
from typing import Final

from hub.domain.quota import resize
from hub.domain.workloads import refusals
from hub.domain.workloads.demand import FOR_GOOD, REFUSED
from hub.domain.workloads.states import (
    ON_CLUSTER,
    QUEUED,
    TERMINAL,
    State,
    Transition,
    WithdrawTo,
    beyond,
)
from hub.services.members.verdicts import retrying
from hub.services.members.verdicts.judgement import RECORD, Judgement
from hub.services.members.verdicts.plain_text import REASON_CHARS, plain
from hub.services.members.verdicts.reasons import CLOSED, ELSEWHERE, HOPELESS, MAY_CHANGE, ROUTINE
from hub.services.members.verdicts.retrying import failures, retry, retry_later
from hub.services.members.verdicts.run_times import run_times
from hub.services.works import restored
from hub.services.works.avoiding import SET_ASIDE, set_aside
from hub.services.works.later_epochs import NEWER_EPOCH
from hub.services.works.overlap import overlap_of
from hub.services.works.retries import why_not
from hub.store.records.workloads import CountedPods, JobProgress, MoveColumns
from hub.store.records.works import StandingWork
from shared.wire.agent_v1 import JobStatus, Observed

# Nothing that is said of an epoch moves a job in these: it has ended, or waits, and what a lost cluster
# still has of it was left behind there.
_PAST: Final = TERMINAL | QUEUED | {State.RESERVED}
_UNSEEN = frozenset({State.OFFERED, State.UNKNOWN})
_NOT_RUNNING = frozenset({State.OFFERED, State.APPLIED, State.UNKNOWN})


def judge(entry: Observed, work: StandingWork, cluster: str, now: dt.datetime) -> Judgement:
    """The meaning of `entry`, reported by the agent of `cluster`, for its work."""
    refusal = _refuse(entry, work)
    if refusal is not None:
        return refusal
    if work.state is None:
        gone = entry.phase == "Gone" and work.action in {"Withdraw", "Keep"}
        return Judgement(record=not gone, action="Remove" if gone else "")
    state = State(work.state)
    if work.workload_epoch != work.epoch or state in _PAST:
        told = overlap_of(entry, work, state, cluster)
        gone = entry.phase == "Gone"
        return Judgement(record=not gone, action="Remove" if gone else "", overlap=told)
    if entry.phase == "Gone":
        return _gone(entry, work, state, cluster, now)
    if entry.reason == NEWER_EPOCH:
        return RECORD if state is State.WITHDRAWING else _behind(entry, work, cluster)
    if entry.job is not None and entry.job.result is not None:
        allowed = retrying.is_allowed(entry.job, work)
        return _ended(entry.job, work, state, cluster, now, allowed=allowed)
    if state is State.WITHDRAWING:
        return RECORD
    if entry.phase == "Missing":
        return _missing(work, cluster)
    if entry.phase == "Failed" and entry.reason in ELSEWHERE | HOPELESS:
        return _unwanted(entry, work, cluster, now)
    alive = _alive(entry, work, state, cluster, now)
    charged = work.charged_after(entry.job.succeeded) if entry.job is not None else None
    return alive if charged is None else replace(alive, admission=charged)


def _behind(entry: Observed, work: StandingWork, cluster: str) -> Judgement:
    """The member has a later epoch, and the store is not yet known to have lost it: show this."""
    why = plain(f"{cluster}: {entry.message}")
    told: JobProgress = {**_same_counts(work), "reason": NEWER_EPOCH, "message": why}
    return Judgement(counts=told if told != _standing_counts(work) else None)


def _is_of_copy(entry: Observed, work: StandingWork) -> bool:
    """True if an agent without the work reports another object than the known one.

    A person may have copied the Job: once the agent knows the work, it reports which one it means.
    """
    if entry.reason != "Orphan" or not entry.object_uid:
        return False
    return work.object_uid() not in ("", entry.object_uid)


def _refuse(entry: Observed, work: StandingWork) -> Judgement | None:
    """Entries of another epoch, and those that take a result back."""
    if entry.epoch < work.epoch:
        text = f"epoch {entry.epoch} has ended; {work.epoch} is current"
        return Judgement(record=False, code="StaleEpoch", detail=text)
    if entry.epoch > work.epoch:
        text = f"epoch {entry.epoch} was never given; {work.epoch} is current"
        return Judgement(record=False, code="FutureEpoch", detail=text)
    if _is_of_copy(entry, work):
        return Judgement(record=False)
    if work.state == State.PLACED and work.workload_epoch == work.epoch:
        text = f"epoch {entry.epoch} was not offered yet"
        return Judgement(record=False, code="FutureEpoch", detail=text)
    if work.state in ON_CLUSTER and work.workload_epoch == work.epoch:
        return None  # no result stands yet
    had = work.previous().get("result")
    if had and entry.job is not None and entry.job.result != had:
        text = f"it had ended as {had}"
        return Judgement(record=False, code="IllegalTransition", detail=text)
    return None


def _missing(work: StandingWork, cluster: str) -> Judgement:
    """The Job has disappeared: a person deleted it, or a rolled-back store does not know why."""
    if not work.options.doubtful:
        return _deleted(work, cluster, record=True, action="Withdraw")
    columns: MoveColumns = {
        "withdraw_to": WithdrawTo.HELD,
        "reason": restored.REASON,
        "message": restored.MESSAGE,
    }
    return Judgement(transition=Transition.WITHDRAW, columns=columns, action="Withdraw")


def _deleted(work: StandingWork, cluster: str, *, record: bool, action: str) -> Judgement:
    text = f"the {work.kind} was deleted in {cluster}, not by Roadstead"
    columns: MoveColumns = {"reason": "DeletedInMember", "message": text}
    return Judgement(record=record, transition=Transition.FAIL, columns=columns, action=action)


def _gone(
    entry: Observed, work: StandingWork, state: State, cluster: str, now: dt.datetime
) -> Judgement:
    """Nothing of this epoch is left in the member, neither the Job nor a pod, and how it ended."""
    job = entry.job
    allowed = job is not None and job.result is not None and retrying.is_allowed(job, work)
    if job is not None and job.result is not None and not (allowed and retrying.is_wanted(work)):
        ended = _ended(job, work, state, cluster, now, allowed=allowed)
        return replace(ended, record=False, action="Remove")
    if state is not State.WITHDRAWING:
        return _gone_unasked(job, work, cluster, now)
    why: MoveColumns = {
        "reason": work.workload_reason or "",
        "message": work.workload_message or "",
    }
    failure = RECORD
    if job is not None and job.result is not None:  # which is tried again
        failure = retry_later(job, work, cluster, now)
        why.update(failure.decided)
    if _never_started(entry, work):
        why["unstarted"] = (work.unstarted or 0) + 1
    leap: MoveColumns = {"new_epoch": beyond(work.epoch, now)} if work.options.doubtful else {}
    match work.withdraw_to:
        case WithdrawTo.CANCELLED | WithdrawTo.DELETED:
            return Judgement(
                record=False, transition=Transition.CANCEL, columns=why, action="Remove"
            )
        case WithdrawTo.FAILED:
            return Judgement(
                record=False, transition=Transition.FAIL, columns=why, action="Remove"
            )
        case WithdrawTo.DEACTIVATED:
            return Judgement(
                record=False,
                transition=Transition.DEACTIVATE,
                columns={**why, **leap},
                action="Remove",
            )
        case _ if work.options.doubtful:
            columns: MoveColumns = {**restored.HELD, **leap, "succeeded": 0}
            return Judgement(
                record=False,
                transition=Transition.HOLD,
                columns=columns,
                action="Remove",
                detail=failure.detail,
                cause=failure.cause,
            )
        case after:
            name = Transition.HOLD if after == WithdrawTo.HELD else Transition.REQUEUE
            again: MoveColumns = {**why, "succeeded": 0}
            return Judgement(
                record=False,
                transition=name,
                columns=again,
                action="Remove",
                detail=failure.detail,
                cause=failure.cause,
            )


def _gone_unasked(
    job: JobStatus | None, work: StandingWork, cluster: str, now: dt.datetime
) -> Judgement:
    """The hub did not take it back, or a store that went back does not know that it did."""
    if job is not None and job.result is not None:  # it failed, may be retried, and is gone
        return replace(retry(job, work, cluster, now), action="Withdraw")
    if work.options.doubtful:
        return _missing(work, cluster)
    return _deleted(work, cluster, record=False, action="Remove")


def _never_started(entry: Observed, work: StandingWork) -> bool:
    """True if an epoch that is gone is no attempt: its agent has the proof, and nothing contradicts it.

    Of one that was seen in the member, the Job's last status says that it waits there without pods.
    """
    if not entry.unstarted or work.started_at is not None:
        return False
    return not work.seen or work.only_waits()


def _ended(
    job: JobStatus,
    work: StandingWork,
    state: State,
    cluster: str,
    now: dt.datetime,
    *,
    allowed: bool,
) -> Judgement:
    """The Job has ended. A result stands, whatever else was wished for meanwhile.

    `allowed`: it failed, and another epoch is allowed.
    """
    if allowed and retrying.is_wanted(work):
        # A new epoch begins when nothing of this one is left: a failed Job's last pods may still run.
        if state is not State.WITHDRAWING:
            return retry(job, work, cluster, now)
        return retry_later(job, work, cluster, now)
    counts = _counts(job, work)
    columns: MoveColumns = {
        "succeeded": counts["succeeded"],
        "failed": counts["failed"],
        "started_at": now,
        **run_times(job, now),
        "reason": "",
        "message": "",
    }
    going = state is State.WITHDRAWING
    if job.result == "Succeeded":
        if going:
            columns["message"] = _first(work, cluster)
        return Judgement(
            transition=Transition.SUCCEED, columns=columns, action="Withdraw" if going else "Keep"
        )
    columns["reason"] = plain(job.reason, REASON_CHARS) or "Failed"
    # If it is allowed, and another end was requested.
    why = "" if allowed else why_not(job, work.attempt(), work.annotations())
    said = "; ".join(filter(None, (job.message, why)))
    columns["message"] = plain(f"{cluster}: {said}" if said else "")
    return Judgement(
        transition=Transition.FAIL, columns=columns, action="Withdraw" if going else "Keep"
    )


# The requested end of a job that is being withdrawn, in words.
_WISHES: Final = {
    WithdrawTo.CANCELLED: "cancelled",
    WithdrawTo.DELETED: "deleted",
    WithdrawTo.HELD: "held",
    WithdrawTo.DEACTIVATED: "deactivated",
    WithdrawTo.FAILED: "given up",
}


def _first(work: StandingWork, cluster: str) -> str:
    wish = _WISHES.get(WithdrawTo(work.withdraw_to or ""), "taken back")
    why = f" ({work.workload_reason})" if work.workload_reason else ""
    return f"completed in {cluster} before it could be {wish}{why}"


def _unwanted(entry: Observed, work: StandingWork, cluster: str, now: dt.datetime) -> Judgement:
    """A Job that its member can not take: take it back first, so that it can not be created there later."""
    hopeless = entry.reason in HOPELESS
    if entry.reason in CLOSED:
        avoided = refusals.refused(work.set_aside(), cluster, now)
    elif entry.reason in MAY_CHANGE:
        avoided = refusals.refused(work.set_aside(), cluster, now, longest=SET_ASIDE)
    else:
        avoided = set_aside(work.set_aside(), cluster, now, SET_ASIDE)
    if entry.reason == REFUSED:
        avoided[cluster] = FOR_GOOD.isoformat()
    columns: MoveColumns = {
        "withdraw_to": WithdrawTo.FAILED if hopeless else WithdrawTo.PENDING,
        "reason": plain(entry.reason, REASON_CHARS),
        "message": plain(f"{cluster}: {entry.message}"),
        "set_aside": avoided,
    }
    return Judgement(transition=Transition.WITHDRAW, columns=columns, action="Withdraw")


def _alive(
    entry: Observed, work: StandingWork, state: State, cluster: str, now: dt.datetime
) -> Judgement:
    """On its way or running: how far it is, and what holds it."""
    job = entry.job
    counts = _counts(job, work) if job is not None else _same_counts(work)
    all_ready = counts["ready"] + counts["succeeded"] >= work.pods_at_once()
    reason, message = _why_held(entry, work, cluster)
    told: JobProgress = {**counts, "reason": reason, "message": message}
    if entry.phase == "Applied" and job is not None and _is_evicted(job, work):
        if state is not State.APPLIED or work.started_at is None:
            since: MoveColumns = {"started_at": now, "pods_lost_at": now}
            since = {**_columns(told), **run_times(job, now), **since}
            return Judgement(transition=Transition.SUSPEND, columns=since)
        # Pods that have succeeded make no Job ready that is suspended: it waits since then.
        return Judgement(counts=told if told != _standing_counts(work) else None)
    if entry.phase == "Applied" and job is not None and job.running_since:
        if state in _NOT_RUNNING:
            started: MoveColumns = {**_columns(told), **run_times(job, now)}
            if all_ready:
                started |= {"pods_ready_at": now, "pods_lost_at": None}
            elif state is State.APPLIED and work.started_at is not None:  # it was suspended
                started["pods_lost_at"] = now
            return Judgement(transition=Transition.START, columns=started)
    elif entry.phase == "Applied" and state in _UNSEEN:
        return Judgement(transition=Transition.APPLY, columns=_columns(told))
    if bool(work.pods_ready) is not all_ready:
        return Judgement(counts=told, all_ready=all_ready)
    return Judgement(counts=told if told != _standing_counts(work) else None)


def _is_evicted(job: JobStatus, work: StandingWork) -> bool:
    """Has it run, and did the member's queue suspend it? An agent that restarted since knows no pods."""
    has_run = bool(job.running_since) or work.started_at is not None
    return has_run and job.suspended and not job.active and bool(work.options.queue)


def _why_held(entry: Observed, work: StandingWork, cluster: str) -> tuple[str, str]:
    job = entry.job
    if entry.reason == "ChangeRefused":
        return entry.reason, plain(f"{cluster} keeps it as it was: {entry.message}")
    if job is None or entry.phase != "Applied":
        if entry.reason in ROUTINE or not entry.reason:
            return "", ""
        return plain(entry.reason, REASON_CHARS), plain(f"{cluster}: {entry.message}")
    if job.held_by:
        return "HeldByMember", plain(f"{job.held_by} keeps the Job suspended in {cluster}")
    if job.suspended and (queue := work.options.queue):
        text = f"waits in LocalQueue {queue} of {cluster}"
        return "WaitsInMemberQueue", text
    if job.reason:
        return plain(job.reason, REASON_CHARS), plain(f"{cluster}: {job.message}")
    admitted, wanted = work.options.parallelism, work.options.wanted
    if admitted is not None and wanted is not None:
        return resize.SMALLER, resize.smaller(admitted, wanted)
    return "", ""


def _counts(job: JobStatus, work: StandingWork) -> CountedPods:
    """Counts of the workload: failures add up over its epochs, the rest is this epoch's."""
    return {
        "succeeded": job.succeeded,
        "failed": failures(job, work),
        "active": job.active,
        "ready": job.ready,
    }


def _columns(told: JobProgress) -> MoveColumns:
    return {
        "succeeded": told["succeeded"],
        "failed": told["failed"],
        "active": told["active"],
        "ready": told["ready"],
        "reason": told["reason"],
        "message": told["message"],
    }


def _same_counts(work: StandingWork) -> CountedPods:
    return {
        "succeeded": work.succeeded or 0,
        "failed": work.failed or 0,
        "active": work.active or 0,
        "ready": work.ready or 0,
    }


def _standing_counts(work: StandingWork) -> JobProgress:
    return {
        **_same_counts(work),
        "reason": work.workload_reason or "",
        "message": work.workload_message or "",
    }

"""Holding jobs back at a user's wish, and letting them wait again: Kueue's `active`, by hand.

A held job keeps its name, its place in the order and its record; it is not considered. One that holds
quota is evicted first. Release also takes back what deactivated a job, so that it may be tried again.
"""

from collections.abc import Iterable
from typing import Final

from hub.domain.workloads.states import TERMINAL, HeldFor, State, Transition, WithdrawTo
from hub.services.chains import settle
from hub.services.members.deadlines import TIME_EXCEEDED
from hub.services.questions import jobs
from hub.services.works import accounted
from hub.services.works.evict import evict
from hub.store import audit, workloads
from hub.store.records.workloads import Workload, WorkloadColumns, WorkloadMove, change_of
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

BY_USER: Final = "HeldByUser"


def hold_job(tx: Transaction, uid: str, principal: str) -> Json:
    """Hold one job; holding it again changes nothing.

    Raises Rejected: NotFound, BeingDeleted, or AlreadyEnded where there is nothing to hold any more.
    """
    row = _holdable(tx, uid)
    if settle.is_held_for_others(row):
        by: WorkloadColumns = {
            "reason": BY_USER,
            "message": f"held by {principal}",
            "held_for": HeldFor.PERSON,
        }
        workloads.change(tx, [change_of(uid, by)])
        tx.say(
            row,
            BY_USER,
            f"held by {principal}: it keeps waiting although its dependencies have ended",
        )
        audit.note(tx, principal, "hold", row)
    if _held(row):
        return jobs.get_job(tx, uid)
    evict(tx, [uid], BY_USER, f"held by {principal}", to=WithdrawTo.HELD)
    audit.note(tx, principal, "hold", row)
    return jobs.get_job(tx, uid)


def release_job(tx: Transaction, uid: str, principal: str) -> Json:
    """Let one job wait again that is held or was deactivated, one that waits go to any cluster again.

    Every other that lives stays as it is.

    One that somebody holds and that other jobs are still to end for waits for those again; one that is
    held for nothing else goes regardless of them.
    Raises Rejected: NotFound, BeingDeleted, AlreadyEnded, AlreadyExists where another job has its
    name by now, or InvalidState where a member may still run it from before the store was restored.
    """
    row = _releasable(tx, uid)
    if row.state == State.PENDING and row.set_aside:
        workloads.change(tx, [{"uid": uid, "set_aside": None}])
        tx.say(row, "Released", f"released by {principal}: it avoids no cluster any more")
        audit.note(tx, principal, "release", row)
        return jobs.get_job(tx, uid)
    for_others = settle.is_held_for_others(row)
    if not for_others and settle.hold_again(tx, row):
        audit.note(tx, principal, "release", row)
        return jobs.get_job(tx, uid)
    if release(tx, [row], f"released by {principal}"):
        settle.waive(tx, uid)
        audit.note(tx, principal, "release", row)
    return jobs.get_job(tx, uid)


def would_hold(tx: Transaction, uid: str) -> Json:
    """The job as it is, if it may be held. Raises Rejected as `hold_job` does."""
    return jobs.get_job(tx, _holdable(tx, uid).uid)


def would_release(tx: Transaction, uid: str) -> Json:
    """The job as it is, if it may be released. Raises Rejected as `release_job` does."""
    return jobs.get_job(tx, _releasable(tx, uid).uid)


def why_not_released(tx: Transaction, uid: str) -> str:
    """Return the reason that blocks a release since the store was restored; "" if it is allowed."""
    row = workloads.get(tx, uid)
    if row is None or not _waits_for_release(row):
        return ""
    return accounted.blocked(tx, [row]).get(uid, "")


def release(tx: Transaction, rows: Iterable[Workload], message: str = "") -> list[str]:
    """Let held and deactivated workloads wait again, without back-off; the uids concerned.

    One whose time was up starts with all of its time anew; no cluster is avoided any more. One that is
    on its way to Held becomes Pending instead, once its cluster has let it go. A job that a member may
    still run from before the store was restored is left out.
    """
    found = list(rows)
    kept = accounted.blocked(tx, found)
    found = [row for row in found if row.uid not in kept]
    leaving = [
        r for r in found if r.state == State.WITHDRAWING and r.withdraw_to == WithdrawTo.HELD
    ]
    workloads.change(
        tx,
        [
            {
                "uid": r.uid,
                "withdraw_to": WithdrawTo.PENDING,
                "message": message,
                "requeues": 0,
                "requeue_at": None,
                "set_aside": None,
            }
            for r in leaving
        ],
    )
    moved = workloads.transition(tx, Transition.RELEASE, [_afresh(row, message) for row in found])
    # The scheduler writes the reason of its wait: the release is among its events.
    workloads.change(tx, [{"uid": uid, "message": ""} for uid in moved])
    return [*(r.uid for r in leaving), *moved]


def _afresh(row: Workload, message: str) -> WorkloadMove:
    cause = (row.evicted or {}).get("cause")
    return {
        "uid": row.uid,
        "epoch": row.epoch,
        "requeues": 0,
        "requeue_at": None,
        "set_aside": None,
        "ran_s": 0 if cause == TIME_EXCEEDED else row.ran_s,
        "message": message,
    }


def _live(tx: Transaction, uid: str) -> Workload:
    row = jobs.find_job(tx, uid)
    if row.deleted_at is None:
        return row
    name = f"{row.namespace}/{row.name}"
    if row.live is not None:
        raise Rejected(RejectCode.BEING_DELETED, f"job {name} is being deleted")
    raise Rejected(RejectCode.NOT_FOUND, f"there is no job {name}: it was deleted")


def _holdable(tx: Transaction, uid: str) -> Workload:
    row = _live(tx, uid)
    may_wait = row.withdraw_to in {WithdrawTo.NOTHING, WithdrawTo.PENDING}
    if not _held(row) and (row.state in TERMINAL or not may_wait):
        raise Rejected(
            RejectCode.ALREADY_ENDED, f"the job is {_stands(row)}: there is nothing to hold"
        )
    return row


def _releasable(tx: Transaction, uid: str) -> Workload:
    row = _live(tx, uid)
    state = row.state
    if state in TERMINAL - {State.DEACTIVATED}:
        raise Rejected(RejectCode.ALREADY_ENDED, f"the job is {state}: submit it again")
    if row.live is None:
        name = f"{row.namespace}/{row.name}"
        raise Rejected(
            RejectCode.ALREADY_EXISTS, f"job {name} gave its name back: submit it again"
        )
    if _waits_for_release(row) and (why := accounted.blocked(tx, [row]).get(uid)):
        raise Rejected(RejectCode.INVALID_STATE, why)
    return row


def _held(row: Workload) -> bool:
    return row.state == State.HELD or row.withdraw_to == WithdrawTo.HELD


def _waits_for_release(row: Workload) -> bool:
    return row.state in {State.HELD, State.DEACTIVATED} or row.withdraw_to == WithdrawTo.HELD


def _stands(row: Workload) -> str:
    return f"on its way to {row.withdraw_to}" if row.withdraw_to else row.state

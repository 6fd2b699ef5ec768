"""Ending jobs at a user's wish: cancel keeps the record, delete gives the name back as well."""

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import TERMINAL, WithdrawTo
from hub.services.questions import jobs
from hub.services.works.withdraw import withdraw_jobs
from hub.store import audit
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode


def cancel_job(tx: Transaction, uid: str, principal: str) -> Json:
    """Cancel one job; cancelling it again, or one that has ended, changes nothing.

    Raises Rejected: NotFound.
    """
    row = jobs.find_job(tx, uid)
    if row.state not in TERMINAL and row.withdraw_to not in {
        WithdrawTo.CANCELLED,
        WithdrawTo.DELETED,
    }:
        withdraw_jobs(
            tx, [uid], WithdrawTo.CANCELLED, "CancelledByUser", f"cancelled by {principal}"
        )
        audit.note(tx, principal, "cancel", row)
    return jobs.get_job(tx, uid)


def would_cancel(tx: Transaction, uid: str) -> Json:
    """The job as it is. Raises Rejected as `cancel_job` does."""
    return jobs.get_job(tx, jobs.find_job(tx, uid).uid)


def delete_job(tx: Transaction, uid: str, principal: str, expected: str = "") -> Json:
    """Delete one job: it is cancelled first if it has not ended, and its copy in the member goes.

    Raises Rejected: NotFound, PreconditionFailed where `expected` is another uid, or OwnedElsewhere
    for what the hub cluster has: it would stay there, and keep the name.
    """
    row = _deletable(tx, uid, expected)
    if row.withdraw_to != WithdrawTo.DELETED or row.state in TERMINAL:
        withdraw_jobs(tx, [uid], WithdrawTo.DELETED, "DeletedByUser", f"deleted by {principal}")
        audit.note(tx, principal, "delete", row)
    return jobs.get_job(tx, uid)


def would_delete(tx: Transaction, uid: str, expected: str = "") -> Json:
    """The job as it is, if it may be deleted. Raises Rejected as `delete_job` does."""
    return jobs.get_job(tx, _deletable(tx, uid, expected).uid)


def _deletable(tx: Transaction, uid: str, expected: str) -> Workload:
    row = jobs.find_job(tx, uid)
    if expected and expected != uid:
        raise Rejected(
            RejectCode.PRECONDITION_FAILED, f"the job has uid {uid}", "preconditions.uid"
        )
    if row.live is None and row.deleted_at is not None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no job {uid}")
    if row.live and row.origin == Origin.HUB_CLUSTER:
        kind, namespace, name = row.kind.lower(), row.namespace, row.name
        text = (
            f"{kind} {namespace}/{name} came from the hub cluster and is deleted there: kubectl "
        )
        text += f"delete {kind} {name} -n {namespace}"
        if row.kind == "Job":
            text += f"; or make it REST's first: roadstead hand-over job {namespace}/{name}"
        raise Rejected(RejectCode.OWNED_ELSEWHERE, text)
    return row

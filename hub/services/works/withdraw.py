"""Taking jobs back: at once where they were never offered, else through the member's word.

`withdraw_jobs` serves cancel, delete, and every rule that moves a job; what follows the member's
confirmation stands in `withdraw_to` and is carried out by `hub.services.members.judge`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from hub.domain.workloads.states import QUEUED, TERMINAL, State, Transition, WithdrawTo
from hub.store import workloads, works
from hub.store.records.workloads import Workload, WorkloadColumns, WorkloadMove, change_of, move_of
from hub.store.transaction import Transaction
from shared.failpoints import failpoint

# What follows a withdrawal; a later wish replaces an earlier one only if it is stronger.
_STRENGTH: Final = {
    WithdrawTo.NOTHING: 0,
    WithdrawTo.PENDING: 1,
    WithdrawTo.HELD: 2,
    WithdrawTo.FAILED: 3,
    WithdrawTo.DEACTIVATED: 4,
    WithdrawTo.CANCELLED: 5,
    WithdrawTo.DELETED: 6,
}
_AT_ONCE: Final = {
    WithdrawTo.PENDING: Transition.UNRESERVE,
    WithdrawTo.HELD: Transition.HOLD,
    WithdrawTo.FAILED: Transition.FAIL,
    WithdrawTo.CANCELLED: Transition.CANCEL,
    WithdrawTo.DELETED: Transition.CANCEL,
    WithdrawTo.DEACTIVATED: Transition.DEACTIVATE,
}


def withdraw_jobs(
    tx: Transaction, uids: Iterable[str], to: WithdrawTo, reason: str = "", message: str = ""
) -> list[str]:
    """Take jobs back, to become `to`; those affected.

    `to`: Pending, Held, Failed, Cancelled, Deactivated or Deleted. Jobs that wait end at once, as do
    placed ones that no agent was told of; a reserved one gives its quota back. Of the others the
    member is told to delete them; they are Withdrawing until it says that nothing is left. A
    finished job is affected by Deleted only: its copy in the member goes, its record stays for the
    retention.
    """
    found = workloads.get_many(tx, uids)
    why = WorkloadColumns(reason=reason, message=message)
    waiting = [w for w in found.values() if w.state in QUEUED | {State.RESERVED}]
    placed = [w for w in found.values() if w.state == State.PLACED]
    ended = [w for w in found.values() if w.state in TERMINAL]
    going = [w for w in found.values() if w.state == State.WITHDRAWING]
    rest = [
        w
        for w in found.values()
        if w.state in {State.OFFERED, State.APPLIED, State.RUNNING, State.UNKNOWN}
    ]
    affected = _end(tx, waiting, to, why)
    affected += _unplace(tx, placed, to, why)
    failpoint("H14")
    affected += _take_back(tx, rest, to, why)
    affected += _strengthen(tx, going, to, why)
    if to == WithdrawTo.DELETED:
        affected += _clear(tx, ended)
        purge_deleted(tx, [uid for uid in affected if found[uid].state in _DONE])
    return affected


_DONE: Final = frozenset({*QUEUED, State.RESERVED, State.PLACED, *TERMINAL})


def purge_deleted(tx: Transaction, uids: Sequence[str]) -> None:
    """Deleted jobs of which no member holds anything: they give their names back."""
    workloads.change(tx, [{"uid": uid, "live": None, "deleted_at": tx.now} for uid in uids])


def _end(
    tx: Transaction, rows: Sequence[Workload], to: WithdrawTo, why: WorkloadColumns
) -> list[str]:
    """End jobs that hold nothing of a cluster."""
    if to == WithdrawTo.FAILED:  # only a Pending one may fail
        held = [w for w in rows if w.state == State.HELD]
        workloads.transition(tx, Transition.RELEASE, [_move(w) for w in held])
        reserved = [w for w in rows if w.state == State.RESERVED]
        workloads.transition(tx, Transition.UNRESERVE, [_move(w) for w in reserved])
    return workloads.transition(tx, _AT_ONCE[to], [_move(w, why) for w in rows])


def _unplace(
    tx: Transaction, rows: Sequence[Workload], to: WithdrawTo, why: WorkloadColumns
) -> list[str]:
    """Placed and never offered: nobody outside knows of it."""
    moved = workloads.transition(tx, Transition.UNPLACE, [_move(w, why) for w in rows])
    taken = set(moved)
    works.remove(tx, [(w.cluster, w.uid) for w in rows if w.uid in taken])
    if to != WithdrawTo.PENDING:
        workloads.transition(tx, _AT_ONCE[to], [_move(w, why) for w in rows if w.uid in taken])
    return moved


def _take_back(
    tx: Transaction, rows: Sequence[Workload], to: WithdrawTo, why: WorkloadColumns
) -> list[str]:
    wish: WorkloadColumns = {"withdraw_to": to, **why}
    if to == WithdrawTo.DELETED:
        wish["deleted_at"] = tx.now
    moved = workloads.transition(tx, Transition.WITHDRAW, [_move(w, wish) for w in rows])
    taken = set(moved)
    works.act(tx, "Withdraw", [(w.cluster, w.uid) for w in rows if w.uid in taken])
    return moved


def _strengthen(
    tx: Transaction, rows: Sequence[Workload], to: WithdrawTo, why: WorkloadColumns
) -> list[str]:
    """On its way back already: a stronger wish decides what follows."""
    weaker = [w for w in rows if _STRENGTH[w.withdraw_to] < _STRENGTH[to]]
    workloads.change(tx, [change_of(w.uid, {"withdraw_to": to, **why}) for w in weaker])
    return [w.uid for w in weaker]


def _clear(tx: Transaction, rows: Sequence[Workload]) -> list[str]:
    """Finished: what a member still keeps of it goes."""
    uids = [w.uid for w in rows]
    kept = works.of_uids(tx, uids)
    works.act(tx, "Withdraw", [(w.cluster, w.uid) for w in kept if w.action != "Withdraw"])
    return uids


def _move(row: Workload, columns: WorkloadColumns | None = None) -> WorkloadMove:
    return move_of(row.uid, row.epoch, columns or {})

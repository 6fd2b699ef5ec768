"""Jobs whose object on the hub cluster has lost its managedBy: an operator there may run it too.

The hub starts no other epoch of such a job: it holds one that waits, and one that leaves its cluster for the
queue becomes held instead. An epoch that runs in a member continues, and the hub stores its result.
"""

from collections.abc import Mapping
from typing import Final

from hub.domain.workloads.states import TERMINAL, HeldFor, State, WithdrawTo
from hub.services.chains import settle
from hub.services.works.evict import evict
from hub.store import events, workloads
from hub.store.records.workloads import Workload, WorkloadColumns, change_of
from hub.store.transaction import Transaction
from shared.reject_codes import RejectCode

REASON: Final = RejectCode.JOBS_UNPROTECTED.value
_RECENT: Final = 20


def hold_back(tx: Transaction, term: int, told: Mapping[str, str]) -> list[str]:
    """Say of these jobs why they are unprotected, once, and hold those that wait; the uids of those held.

    `told`: by uid, the sentence. Raises StaleTerm.
    """
    tx.require_term(term)
    rows = {
        uid: row
        for uid, row in workloads.get_many(tx, told).items()
        if row.state not in TERMINAL and row.withdraw_to != WithdrawTo.DELETED
    }
    for uid, row in rows.items():
        if not _was_said(tx, uid, told[uid]):
            tx.say(row, REASON, told[uid], warning=True)
    for uid, row in rows.items():
        if settle.is_held_for_others(row):  # else it would start once they have ended
            held: WorkloadColumns = {
                "reason": REASON,
                "message": told[uid],
                "held_for": HeldFor.PERSON,
            }
            workloads.change(tx, [change_of(uid, held)])
    return [
        uid
        for uid, row in rows.items()
        if _would_start(row) and evict(tx, [uid], REASON, told[uid], to=WithdrawTo.HELD)
    ]


def _would_start(row: Workload) -> bool:
    """Whether it waits to be started, or will again; nothing of it may have to be taken from a member."""
    if row.state == State.WITHDRAWING:
        return row.withdraw_to == WithdrawTo.PENDING
    return row.state in (State.PENDING, State.RESERVED, State.PLACED)


def _was_said(tx: Transaction, uid: str, message: str) -> bool:
    newest = events.list_events(tx, uid=uid, limit=_RECENT, newest_first=True)
    return any((each.reason, each.message) == (REASON, message) for each in newest)

"""Jobs of a rolled-back store when it is accepted: holds those that may run unknown to it.

In the lost time a job that waits here may have been placed, may run in a member or have ended there,
even in a member that this store has never heard of: nothing that members say can rule that out. So it
starts again by a person's word only, in an epoch beyond all that were given. What a member was given
already goes on there, if it is there; it is never made again, and once it is gone it is held too.
The rule and its proof: docs/explain/exactly-once.md, rule 12.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hub.domain.workloads.chains import waits_for_others
from hub.domain.workloads.cron_runs import decided_until
from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import HeldFor, State, Transition, WithdrawTo, beyond
from hub.services.context import timeline
from hub.services.works import accounted
from hub.services.works.withdraw import withdraw_jobs
from hub.store import audit, doubts, leases, objects, settings, workloads
from hub.store.records.workloads import Workload, WorkloadColumns, WorkloadMove, change_of
from hub.store.records.works import StandingWork
from hub.store.transaction import Transaction
from hub.store.workloads import BARE
from shared.wire.agent_v1 import Observed

REASON: Final = "Restored"
MESSAGE: Final = (
    "the hub's store was restored from an older copy: in the time that is lost this job may have been "
    "started or have ended. Release it once every member has reported (roadstead explain names the members "
    "that block it), or cancel it"
)
_TIMES_GIVEN_UP: Final = (
    "the hub's store was restored: no time before this moment runs any more, as the hub may have run it in "
    "the lost time"
)
HELD: Final = WorkloadColumns(reason=REASON, message=MESSAGE, held_for=HeldFor.RESTORE)

_AT_ONCE: Final = (State.PENDING, State.RESERVED, State.PLACED)
_MAY_START: Final = (*_AT_ONCE, State.HELD, State.DEACTIVATED)
_NOT_THERE: Final = frozenset({"Missing", "Gone"})
_GIVEN: Final = (
    State.OFFERED,
    State.APPLIED,
    State.RUNNING,
    State.UNKNOWN,
    State.WITHDRAWING,
)


def accept(tx: Transaction, principal: str) -> str:
    """Go on from the restored state under a new incarnation; the incarnation.

    What members hold from before and this store does not know is left alone and shown, never removed.
    What may run there unknown to it is held. Raises Rejected: NotRolledBack.
    """
    recovering = timeline.is_recovering(tx)
    incarnation = timeline.begin_anew(tx)
    _give_up_times(tx)
    held = 0 if recovering else hold_everything(tx)  # … when the backup was restored
    also = f": {held} jobs are held" if not recovering else ""
    timeline.say(tx, "HubRestored", f"{principal} accepted the restored state{also}")
    audit.add(tx, principal, "accept-restored", f"Hub incarnation {incarnation}")
    return incarnation


def begin_recovery(
    tx: Transaction, taken_at: str, principal: str, earlier: Sequence[str]
) -> tuple[int, str]:
    """A backup has just been made this store: how many jobs are held, and the incarnation that begins.

    Nothing is dispatched until an administrator accepts it. `earlier`: incarnations of what was in its
    place. Whoever led the store is not believed any more.
    """
    text = (
        f"this hub's store was restored from a backup{f' of {taken_at}' if taken_at else ''}. Jobs may run "
        "that it does not know. Nothing is dispatched until an administrator accepts the restored state "
        "(roadstead restored --accept)"
    )
    incarnation = timeline.recover(tx, text, earlier)
    held = hold_everything(tx)
    leases.seize(tx, principal, dt.timedelta(0))
    timeline.say(tx, timeline.CODE, text)
    audit.add(tx, principal, "restore", f"Hub incarnation {incarnation}")
    return held, incarnation


def incarnations(tx: Transaction) -> tuple[str, ...]:
    """The incarnation of a store that holds a hub; empty for one that does not."""
    found = settings.get(tx, "incarnation")
    return () if found is None else (str(found),)


def hold_everything(tx: Transaction) -> int:
    """Hold what waits, and mark what members were given; how many jobs are held."""
    tx.may_take_long()  # a hundred thousand jobs at once
    accounted.begin(tx)
    _give_up_times(tx)
    jobs = doubts.jobs_in(tx, _MAY_START)
    withdraw_jobs(
        tx, [job.uid for job in jobs if job.state in _AT_ONCE], WithdrawTo.HELD, REASON, MESSAGE
    )
    held = [job.uid for job in jobs if job.state in (*_AT_ONCE, State.HELD)]
    workloads.change(tx, [change_of(uid, HELD) for uid in held])
    workloads.change(tx, [{"uid": job.uid, "epoch": beyond(job.epoch, tx.now)} for job in jobs])
    given = doubts.given_in(tx, _GIVEN)
    doubts.mark(
        tx, [work._replace(options=replace(work.options, doubtful=True)) for work in given]
    )
    return sum(job.state != State.DEACTIVATED for job in jobs)


def hold_found(tx: Transaction, cluster: str, uids: Iterable[str]) -> list[str]:
    """Hold again what was let go, and of which a member says that it has a Job of before; whom it concerns.

    Whoever let it go could not see that Job: an order that was on its way since before has made it. What a
    member was told of already goes on there, and of what is newer than the acceptance no word is believed.
    """
    until = accounted.restored_at(tx)
    if until is None:
        return []
    known = workloads.get_many(tx, uids).values()
    rows = [row for row in known if _may_be_older(row, until) and _is_let_go(row)]
    message = f"{found_in(cluster)}, or cancel this one"
    told = WorkloadColumns(reason=REASON, message=message, held_for=HeldFor.RESTORE)
    withdraw_jobs(
        tx, [r.uid for r in rows if r.state in _AT_ONCE], WithdrawTo.HELD, REASON, message
    )
    workloads.change(tx, [change_of(row.uid, told) for row in rows])
    for row in rows:
        tx.say(row, REASON, message, warning=True)
    return [row.uid for row in rows]


def _may_be_older(row: Workload, until: dt.datetime) -> bool:
    """True if a job may be older than the restore; the hub cluster's clock proves nothing."""
    return row.origin == Origin.HUB_CLUSTER or row.created_at <= until


def hold(tx: Transaction, rows: Iterable[Workload], why: Mapping[str, str]) -> None:
    """Held jobs that would start now stay held as `Restored`: a member may still run them."""
    for row in rows:
        told = WorkloadColumns(reason=REASON, message=why[row.uid], held_for=HeldFor.RESTORE)
        workloads.change(tx, [change_of(row.uid, told)])
        tx.say(row, REASON, why[row.uid], warning=True)


def requeue(tx: Transaction, rows: Sequence[WorkloadMove]) -> list[str]:
    """Requeue withdrawn jobs; those that a member may still run from before the restore are held."""
    if not rows or accounted.restored_at(tx) is None:
        return workloads.transition(tx, Transition.REQUEUE, rows)
    known = workloads.get_many(tx, [row["uid"] for row in rows])
    kept = accounted.blocked(tx, known.values())
    held: list[WorkloadMove] = [
        {**row, "reason": REASON, "message": kept[row["uid"]], "held_for": HeldFor.RESTORE}
        for row in rows
        if row["uid"] in kept
    ]
    free = [row for row in rows if row["uid"] not in kept]
    moved = workloads.transition(tx, Transition.REQUEUE, free)
    return [*moved, *workloads.transition(tx, Transition.HOLD, held)]


def found_in(cluster: str) -> str:
    """That a member has such a Job, and what to do about it."""
    return (
        f"{cluster} has a Job of it from before the hub's store was restored: an administrator adopts "
        "that Job or has it removed (roadstead admin adopt, forget)"
    )


def _is_let_go(row: Workload) -> bool:
    return row.state in _AT_ONCE or waits_for_others(row.state, row.held_for, row.reason)


def hold_late(tx: Transaction, rows: Sequence[Workload]) -> None:
    """Hold Jobs of the hub cluster that are taken now and were made before the store was accepted.

    Their uids are those of the hub cluster: the store may have known them in the time that is lost.
    """
    theirs = [row for row in rows if row.origin == Origin.HUB_CLUSTER and row.kind != BARE]
    until = accounted.restored_at(tx) if theirs else None
    if until is None:
        return
    left = accounted.reported(tx, [row.uid for row in theirs])
    late = [row.uid for row in theirs if row.created_at <= until or row.uid in left]
    withdraw_jobs(tx, late, WithdrawTo.HELD, REASON, MESSAGE)
    workloads.change(
        tx,
        [{**change_of(uid, HELD), "epoch": beyond(0, tx.now)} for uid in late],
    )


def doubtful(tx: Transaction, cluster: str, uids: Iterable[str]) -> set[str]:
    """Those of a cluster's works of which it is not known where their jobs are."""
    found = doubts.options_of(tx, cluster, uids)
    return {uid for uid, options in found.items() if options.doubtful}


def in_doubt(
    tx: Transaction, works: dict[str, StandingWork], reported: Mapping[str, Observed]
) -> dict[str, StandingWork]:
    """Return works by uid; those whose Jobs are not there are doubtful until the store is accepted (rule 12).

    The hub may have taken such a job back in the lost time, and acceptance marks only what the store holds
    then. `reported`: by uid. One query if a Job is not there that the hub does not take back.
    """
    lost = [
        uid for uid, work in works.items() if reported[uid].phase in _NOT_THERE and _is_given(work)
    ]
    if not lost or not timeline.stopped(tx):
        return works
    marked = {uid: replace(works[uid].options, doubtful=True) for uid in lost}
    return works | {uid: works[uid]._replace(options=options) for uid, options in marked.items()}


def _is_given(work: StandingWork) -> bool:
    return work.state in _GIVEN and work.state != State.WITHDRAWING


def _give_up_times(tx: Transaction) -> None:
    """Let no CronJob run a time that is not later than now (`hub.services.jobs.cron.status`)."""
    for row in objects.list_kind(tx, "batch", "CronJob"):
        if row.is_scheduled:
            status = row.status or {}
            text = status.get("decidedUntil")
            until = decided_until(dt.datetime.fromisoformat(text) if text else None, tx.now)
            decided = until.isoformat().replace("+00:00", "Z")
            objects.set_statuses(tx, {row.uid: {**status, "decidedUntil": decided}})
            tx.say(row, "TimesGivenUp", _TIMES_GIVEN_UP, warning=True)

"""Settles dependents of ended jobs: decided once, a bounded number at a time.

A job is released in the transaction that finds the last of those results in the store, and no earlier
(docs/explain/exactly-once.md, rule 20). What a crash leaves undecided is found again by its index.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from hub.domain.workloads.chains import (
    NEVER,
    Followed,
    LinkState,
    follows,
    judge_end,
    waits_for_others,
)
from hub.domain.workloads.states import HeldFor, State, Transition
from hub.services.works import accounted, restored
from hub.store import dependencies, workloads
from hub.store.records.dependencies import Awaited, Dependency
from hub.store.records.workloads import Workload, WorkloadChange
from hub.store.transaction import Transaction

LINKS: Final = dependencies.DEPENDENCIES  # in the feed: by the uid of the job that waits
MOST: Final = 500  # dependencies decided in one transaction


class DecidedLinks(NamedTuple):
    """The work done: the number of decisions, and whether more remain."""

    decided: int
    more: bool


def awaited(tx: Transaction) -> frozenset[str]:
    """The awaited jobs, by uid; "" among them while a name is awaited."""
    return dependencies.awaited(tx)


def awaited_by(tx: Transaction, uids: Iterable[str]) -> frozenset[str]:
    """The dependencies of these jobs, likewise."""
    return dependencies.awaited_by(tx, uids)


def ended(tx: Transaction, uids: Collection[str]) -> tuple[str, ...]:
    """Those of these jobs that have ended finally, or no longer exist."""
    known = dependencies.states(tx, uids)
    return tuple(sorted(uid for uid in uids if _has_ended(known.get(uid))))


def _has_ended(job: Awaited | None) -> bool:
    return job is None or job.has_ended


def settle(tx: Transaction, uids: Sequence[str], term: int) -> DecidedLinks:
    """Decide some of the dependencies on ended jobs, and release jobs without open dependencies.

    Raises StaleTerm.
    """
    tx.require_term(term)
    rows = dependencies.waiting_on(tx, uids, MOST + 1)
    known = dependencies.states(tx, {row.on_uid for row in rows[:MOST]})
    decided = [_decided(row, known.get(row.on_uid)) for row in rows[:MOST]]
    decided = [row for row in decided if row.state is not LinkState.WAITING]
    dependencies.decide(tx, decided)
    _follow(tx, {row.uid for row in decided})
    return DecidedLinks(len(decided), len(rows) > MOST)


def _decided(row: Dependency, job: Awaited | None) -> Dependency:
    if job is None:  # removed before its dependents were decided
        return row._replace(state=LinkState.NEVER)
    if not job.has_ended:
        return row
    return row._replace(state=judge_end(row.wanted, job.state), ended=job.state.value)


def names_due(tx: Transaction, late: dt.datetime | None) -> bool | None:
    """True if an awaited name has come, or its time is over; None if no name is awaited.

    `late`: as `bind_names` takes it.
    """
    if not dependencies.waits_for_names(tx):
        return None
    return bool(dependencies.come(tx, 1, late))


def bind_names(tx: Transaction, term: int, late: dt.datetime | None) -> DecidedLinks:
    """Bind awaited names to jobs that have come; give up names whose time is over.

    `late`: the time by the clock that this leader began with, advanced by what it has counted since; None
    until it has counted for the time that a name is awaited. A clock that is set ahead gives up no name.
    Raises StaleTerm.
    """
    tx.require_term(term)
    found = dependencies.come(tx, MOST, late)
    dependencies.bind(tx, [each for each in found if each.on_uid])
    nobodys = {(each.uid, each.on_name) for each in found if not each.on_uid}
    held = dependencies.of_jobs(tx, {uid for uid, _ in nobodys})
    missed = [row for rows in held.values() for row in rows if (row.uid, row.on_name) in nobodys]
    dependencies.decide(tx, [row._replace(state=LinkState.NEVER) for row in missed])
    _follow(tx, held)
    return DecidedLinks(len(found), len(found) == MOST)


def _follow(tx: Transaction, uids: Collection[str]) -> None:
    """Release, or update the messages of, those of these jobs that are held only for their dependencies."""
    if not uids:
        return
    links = dependencies.of_jobs(tx, uids)
    held = [row for row in workloads.get_many(tx, uids).values() if is_held_for_others(row)]
    kept = accounted.blocked(tx, held)
    restored.hold(tx, [row for row in held if row.uid in kept], kept)
    held = [row for row in held if row.uid not in kept]
    told = [(row, follows([each.link for each in links[row.uid]])) for row in held]
    _let_go(tx, [(row, what) for row, what in told if what.may_go])
    _tell(tx, [(row, what) for row, what in told if not what.may_go])


def is_held_for_others(row: Workload) -> bool:
    """True if it is held only because it waits for other jobs."""
    return waits_for_others(row.state, row.held_for, row.reason)


def _let_go(tx: Transaction, rows: Sequence[tuple[Workload, Followed]]) -> None:
    """They join their queues now: they were in no order before."""
    moved = workloads.transition(
        tx,
        Transition.RELEASE,
        [
            {"uid": row.uid, "epoch": row.epoch, "queued_at": tx.now, "message": what.message}
            for row, what in rows
        ],
    )
    # From here on the scheduler writes the reason of its wait.
    workloads.change(tx, [{"uid": uid, "message": ""} for uid in moved])


def _tell(tx: Transaction, rows: Sequence[tuple[Workload, Followed]]) -> None:
    new = [
        (row, what)
        for row, what in rows
        if (row.reason, row.message) != (what.reason, what.message)
    ]
    workloads.change(tx, [_held_for_jobs(row, what) for row, what in new])
    for row, what in new:
        if what.reason == NEVER and row.reason != NEVER:
            tx.say(row, what.reason, what.message, warning=True)


def _held_for_jobs(row: Workload, what: Followed) -> WorkloadChange:
    return {
        "uid": row.uid,
        "reason": what.reason,
        "message": what.message,
        "held_for": HeldFor.JOBS,
    }


def hold_again(tx: Transaction, row: Workload) -> bool:
    """A held job that others are still to end for waits for them again; False if it has no dependency.

    The other cause of its hold (a person, a restored store) is over.
    """
    what = _open(tx, row)
    if what is None or row.state is not State.HELD:
        return False
    workloads.change(tx, [_held_for_jobs(row, what)])
    tx.say(row, what.reason, what.message, warning=what.reason == NEVER)
    return True


def _open(tx: Transaction, row: Workload) -> Followed | None:
    links = [each.link for each in dependencies.of_jobs(tx, [row.uid]).get(row.uid, ())]
    what = follows(links)
    return None if what.may_go else what


def waive(tx: Transaction, uid: str) -> None:
    """A person releases a job despite its open dependencies."""
    rows = dependencies.of_jobs(tx, [uid]).get(uid, ())
    open_ = (LinkState.WAITING, LinkState.NEVER)
    dependencies.decide(
        tx, [row._replace(state=LinkState.WAIVED) for row in rows if row.state in open_]
    )

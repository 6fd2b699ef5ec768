"""Eviction: the one way to take quota back from workloads that are reserved or placed.

What it leaves on the row is what Kueue keeps of it: the last eviction, how many of each reason, the
back-off before the next try and the queue-order timestamp, as in Kueue
(docs/explain/queueing.md#eviction-and-what-follows).
How the job leaves its cluster is `hub.services.works.withdraw`'s; what evicts is anybody's.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hub.domain.queueing.requeue import back_off
from hub.domain.workloads import admission_checks
from hub.domain.workloads.states import CHARGED, State, WithdrawTo
from hub.services.works import counters
from hub.services.works.withdraw import withdraw_jobs
from hub.store import workloads
from hub.store.records.history import EventFacts
from hub.store.records.workloads import Workload, WorkloadChange, WorkloadColumns
from hub.store.transaction import Transaction

LIMIT_EXCEEDED: Final = "RequeuingLimitExceeded"
# Until somebody says otherwise.
_STAYS_OUT: Final = frozenset({WithdrawTo.DEACTIVATED, WithdrawTo.HELD})
_HOLDING: Final = CHARGED - {State.WITHDRAWING}


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long counted evictions keep a workload out of line, and how many of them there may be.

    Defaults are Kueue's. `limit` None: it may be requeued for ever.
    """

    base_s: float = 60.0
    cap_s: float = 3600.0
    limit: int | None = None

    def exceeded(self, requeues: int) -> bool:
        """Is the n-th requeue one too many?"""
        return self.limit is not None and requeues > self.limit

    def span(self, requeues: int) -> dt.timedelta:
        """How long the n-th requeue waits, n from 1."""
        return dt.timedelta(seconds=back_off(requeues, base=self.base_s, cap=self.cap_s))


KUEUES: Final = BackOff()


@dataclass(frozen=True, slots=True)
class Requeue:
    """When what is evicted may be admitted again.

    It stays out of line `after` so long, at least; one that is `counted` raises `requeues` and waits as
    `back_off` says, or is deactivated where that was one too many. With `later` it queues as of now,
    else as of its creation.
    """

    after: dt.timedelta | None = None
    counted: bool = False
    later: bool = False
    back_off: BackOff = KUEUES

    def too_often(self, row: Workload) -> bool:
        """Is this eviction one too many for it?"""
        return self.counted and self.back_off.exceeded(row.requeues + 1)

    def columns(self, row: Workload, now: dt.datetime) -> WorkloadColumns:
        """Count and back-off; a time once set is only ever pushed later."""
        requeues = row.requeues + self.counted
        times = [] if row.requeue_at is None else [row.requeue_at]
        if self.after is not None:
            times.append(now + self.after)
        if self.counted:
            times.append(now + self.back_off.span(requeues))
        return {"requeues": requeues, "requeue_at": max(times, default=None)}


AT_ONCE: Final = Requeue()
_AFRESH: Final = WorkloadColumns(requeues=0, requeue_at=None)


def evict(
    tx: Transaction,
    uids: Iterable[str],
    reason: str,
    message: str,
    *,
    to: WithdrawTo = WithdrawTo.PENDING,
    requeue: Requeue = AT_ONCE,
    also: Mapping[str, WorkloadColumns] | None = None,
) -> list[str]:
    """Take quota back from workloads, to become `to` (Pending, Held or Deactivated); those affected.

    `reason` is Kueue's reason of condition Evicted; where `to` is Held or Deactivated that reason is
    Deactivated, and this is its cause. `also`: further columns, by uid, the same for each.
    Workloads that hold no quota are not evicted: only Held and Deactivated affect them.
    """
    found = workloads.get_many(tx, uids)
    too_often = {
        uid for uid, row in found.items() if row.state in _HOLDING and requeue.too_often(row)
    }
    affected = withdraw_jobs(
        tx, [uid for uid in found if uid not in too_often], to, reason, message
    )
    if too_often:
        said = f"evicted more often than {requeue.back_off.limit} times ({reason}): {message}"
        last = [uid for uid in found if uid in too_often]
        affected += withdraw_jobs(tx, last, WithdrawTo.DEACTIVATED, LIMIT_EXCEEDED, said)
    changed: list[WorkloadChange] = []
    for uid in affected:
        row, ends = found[uid], to in _STAYS_OUT or uid in too_often
        if row.state not in _HOLDING and not ends:
            continue
        cause = LIMIT_EXCEEDED if uid in too_often else reason
        evicted = _evicted(tx, _named(cause, ends=ends), message)
        changed.append(
            {
                **_eviction(tx, row, evicted),
                # Whoever activates it again finds no back-off.
                **(_AFRESH if ends else requeue.columns(row, tx.now)),
                "queued_at": tx.now if requeue.later else row.created_at,
                **(also or {}).get(uid, {}),
            }
        )
        if row.state in _HOLDING:
            _say(tx, row, evicted)
    workloads.change(tx, changed)
    return affected


def _named(reason: str, *, ends: bool) -> tuple[str, str]:
    """Reason and cause as condition Evicted has them."""
    if not ends:
        return reason, ""
    ended = WithdrawTo.DEACTIVATED.value  # a key of JSON
    return ended, "" if reason == ended else reason


def _evicted(tx: Transaction, named: tuple[str, str], message: str) -> dict[str, str]:
    """The last eviction, as the row keeps it."""
    reason, cause = named
    said = {"reason": reason, "message": message[:1024], "at": tx.now.isoformat()}
    return said | ({"cause": cause} if cause else {})


def _eviction(tx: Transaction, row: Workload, evicted: Mapping[str, str]) -> WorkloadChange:
    """What the row remembers of it. Run time counts from admission, as Kueue's does."""
    evictions = dict(row.evictions or {})
    ran_s = row.ran_s
    if row.state in _HOLDING:
        reason, cause = evicted["reason"], evicted.get("cause", "")
        key = f"{reason}/{cause}" if cause else reason
        evictions[key] = evictions.get(key, 0) + 1
        ran_s += run_time_s(row, tx.now)
    return {
        "uid": row.uid,
        "evicted": evicted,
        "evictions": evictions or None,
        "ran_s": ran_s,
        "checks": admission_checks.closed(row.checks, evicted["at"]) if row.checks else None,
    }


def run_time_s(row: Workload, now: dt.datetime) -> int:
    """Whole seconds since a workload was admitted; 0 if it is not."""
    placed_at = row.placed_at
    return 0 if placed_at is None else max(0, int((now - placed_at).total_seconds()))


def _say(tx: Transaction, row: Workload, evicted: Mapping[str, str]) -> None:
    reason, cause = evicted["reason"], evicted.get("cause", "")
    counters.evicted(row.cluster_queue, reason, cause)
    due = f"EvictedDueTo{reason}" + (f"DueTo{cause}" if cause else "")
    facts = EventFacts(row.cluster, row.epoch, cause or reason)
    tx.say(row, due, evicted["message"], facts=facts)

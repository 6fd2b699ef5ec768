"""Eviction: the one way to take quota back from workloads that are reserved or placed.

What it leaves on the row is what Kueue keeps of it: the last eviction, how many of each reason, the
back-off before the next try and the queue-order timestamp (queueing reference, 1.2, 1.5 and 2.1).
How the job leaves its cluster is `hub.services.works.withdraw`'s; what evicts is anybody's.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hub.domain.queueing.requeue import back_off
from hub.domain.workloads import admission_checks
from hub.domain.workloads.states import CHARGED, State, WithdrawTo
from hub.services.works import counters
from hub.services.works.withdraw import withdraw_jobs
from hub.store import workloads
from hub.store.transaction import Transaction

LIMIT_EXCEEDED: Final = "RequeuingLimitExceeded"
_STAYS_OUT: Final = frozenset(
    {WithdrawTo.DEACTIVATED, WithdrawTo.HELD}
)  # until somebody says otherwise
_HOLDING: Final = frozenset(str(s) for s in CHARGED - {State.WITHDRAWING})

Row = dict[str, Any]


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


def evict(
    tx: Transaction,
    uids: Iterable[str],
    reason: str,
    message: str,
    *,
    to: WithdrawTo = WithdrawTo.PENDING,
    requeue_after: dt.timedelta | None = None,
    counted: bool = False,
    later: bool = False,
    back_off: BackOff = KUEUES,
    also: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[str]:
    """Take quota back from workloads, to become `to` (Pending, Held or Deactivated); those affected.

    `reason` is Kueue's reason of condition Evicted; where `to` is Held or Deactivated that reason is
    Deactivated, and this is its cause.
    A `counted` eviction raises `requeues` and waits as `back_off` says, or deactivates where that
    was one too many; `requeue_after` keeps it out of line for at least so long. With `later` it
    queues as of now, else as of its creation. `also`: further columns, by uid, the same for each.
    Workloads that hold no quota are not evicted: only Held and Deactivated affect them.
    """
    found = workloads.get_many(tx, uids)
    too_often = {
        uid: row
        for uid, row in found.items()
        if counted and row["state"] in _HOLDING and back_off.exceeded(row["requeues"] + 1)
    }
    kept = [uid for uid in found if uid not in too_often]
    affected = withdraw_jobs(tx, kept, to, reason, message)
    if too_often:
        said = f"evicted more often than {back_off.limit} times ({reason}): {message}"
        affected += withdraw_jobs(tx, too_often, WithdrawTo.DEACTIVATED, LIMIT_EXCEEDED, said)
    changed: list[Row] = []
    for uid in affected:
        row, ends = found[uid], to in _STAYS_OUT or uid in too_often
        if row["state"] not in _HOLDING and not ends:
            continue
        cause = LIMIT_EXCEEDED if uid in too_often else reason
        columns = _eviction(tx, row, _named(cause, ends=ends), message)
        columns |= _afresh() if ends else _requeued(tx, row, requeue_after, back_off, counted)
        columns["queued_at"] = tx.now if later else row["created_at"]
        changed.append(columns | dict((also or {}).get(uid, {})))
    workloads.change(tx, changed)
    _say(tx, found, changed)
    return affected


def _named(reason: str, *, ends: bool) -> tuple[str, str]:
    """Reason and cause as condition Evicted has them."""
    if not ends:
        return reason, ""
    ended = WithdrawTo.DEACTIVATED.value  # a key of JSON
    return ended, "" if reason == ended else reason


def _eviction(tx: Transaction, row: Row, named: tuple[str, str], message: str) -> Row:
    """What the row remembers of it. Run time counts from admission, as Kueue's does."""
    reason, cause = named
    evictions = dict(row["evictions"] or {})
    ran_s = row["ran_s"]
    if row["state"] in _HOLDING:
        key = f"{reason}/{cause}" if cause else reason
        evictions[key] = evictions.get(key, 0) + 1
        ran_s += run_time_s(row, tx.now)
    said = {"reason": reason, "message": message[:1024], "at": tx.now.isoformat()}
    return {
        "uid": row["uid"],
        "evicted": said | ({"cause": cause} if cause else {}),
        "evictions": evictions or None,
        "ran_s": ran_s,
        "checks": admission_checks.closed(row["checks"], said["at"]) if row["checks"] else None,
    }


def run_time_s(row: Mapping[str, Any], now: dt.datetime) -> int:
    """Whole seconds since a workload was admitted; 0 if it is not."""
    placed_at = row["placed_at"]
    return 0 if placed_at is None else max(0, int((now - placed_at).total_seconds()))


def _afresh() -> Row:
    """Whoever activates it again finds no back-off."""
    return {"requeues": 0, "requeue_at": None}


def _requeued(
    tx: Transaction, row: Row, after: dt.timedelta | None, back_off: BackOff, counted: bool
) -> Row:
    """Count and back-off; a time once set is only ever pushed later."""
    requeues = row["requeues"] + counted
    times = [] if row["requeue_at"] is None else [row["requeue_at"]]
    if after is not None:
        times.append(tx.now + after)
    if counted:
        times.append(tx.now + back_off.span(requeues))
    return {"requeues": requeues, "requeue_at": max(times, default=None)}


def _say(tx: Transaction, found: Mapping[str, Row], changed: Collection[Row]) -> None:
    for columns in changed:
        row, evicted = found[columns["uid"]], columns["evicted"]
        if row["state"] not in _HOLDING:
            continue
        counters.evicted(row["cluster_queue"], evicted["reason"], evicted.get("cause", ""))
        tx.event(
            uid=row["uid"], kind=row["kind"], namespace=row["namespace"], name=row["name"],
            reason=f"EvictedDueTo{evicted['reason']}{_due(evicted)}",
            message=evicted["message"],
        )  # fmt: skip


def _due(evicted: Mapping[str, str]) -> str:
    return f"DueTo{evicted['cause']}" if evicted.get("cause") else ""

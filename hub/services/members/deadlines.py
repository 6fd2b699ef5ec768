"""Deadlines of a workload: to have all its pods ready, to have them back, and to run at all.

Kueue's waitForPodsReady and maximumExecutionTimeSeconds, with Kueue's meaning. Both count from
admission. Each rule is one query a turn, whatever the number of workloads.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from hub.domain.workloads.states import WithdrawTo
from hub.services.context.settings import Queueing
from hub.services.members.verdicts import api_server
from hub.services.works.evict import BackOff, Requeue, evict, run_time_s
from hub.store import lifetimes, workloads
from hub.store.records.workloads import WorkloadMove
from hub.store.transaction import Transaction

PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
TIME_EXCEEDED: Final = "MaximumExecutionTimeExceeded"
LastDown = Mapping[str, dt.datetime]  # by member: when it was found Unhealthy last
_NEVER: Final[LastDown] = MappingProxyType({})


def back_off_of(given: Queueing) -> BackOff:
    """The back-off an administrator set."""
    limit = given.requeuing_backoff_limit
    return BackOff(
        base_s=given.requeuing_backoff_base_s,
        cap_s=given.requeuing_backoff_max_s,
        limit=None if limit < 0 else limit,
    )


def recovery_timeout_s(given: Queueing) -> float:
    """How long pods that were ready may be missing, s; 0: without limit. As the other if not set."""
    own = given.pods_ready_recovery_timeout_s
    return given.pods_ready_timeout_s if own < 0 else own


def overrun(tx: Transaction) -> tuple[list[str], float | None]:
    """Workloads that have run for as long as they may; and in how many seconds the next one will."""
    ended: list[str] = []
    soonest: float | None = None
    for row in lifetimes.limited(tx):
        left = row.max_runtime_s - row.ran_s - (tx.now - row.placed_at).total_seconds()
        if left <= 0:
            ended.append(row.uid)
        elif soonest is None or left < soonest:
            soonest = left
    return ended, soonest


def end_overrun(tx: Transaction, uids: Sequence[str], term: int) -> int:
    """Take back and deactivate what has run too long; how many. Raises StaleTerm."""
    tx.require_term(term)
    still = set(uids) & set(overrun(tx)[0])
    limits = {row.uid: row.max_runtime_s for row in lifetimes.limited(tx)}
    ended = 0
    for seconds in sorted({limits[uid] for uid in still}):
        those = [uid for uid in sorted(still) if limits[uid] == seconds]
        message = f"ran for {seconds} s, its maximum execution time"
        ended += len(evict(tx, those, TIME_EXCEEDED, message, to=WithdrawTo.DEACTIVATED))
    return ended


def unready(
    tx: Transaction, given: Queueing, last_down: LastDown = _NEVER
) -> dict[str, list[str]]:
    """Workloads whose pods were not all ready in time, or are lost for too long, by what to say.

    On an Unhealthy member nothing is late: the time begins when it is healthy again (`last_down`: until when
    it was not).
    """
    found: dict[str, str] = {}
    if given.pods_ready_timeout_s > 0:
        span = dt.timedelta(seconds=given.pods_ready_timeout_s)
        said = f"not all pods were ready within {given.pods_ready_timeout_s:g} s"
        waits = api_server.waits_for(tx, last_down, span)
        late = lifetimes.never_ready(tx, tx.now - span, waits)
        found |= {uid: _and(said, words) for uid, words in late.items()}
    recovery_s = recovery_timeout_s(given)
    if recovery_s > 0:
        span = dt.timedelta(seconds=recovery_s)
        said = f"pods were lost and not back within {recovery_s:g} s"
        waits = api_server.waits_for(tx, last_down, span)
        lost = lifetimes.no_longer_ready(tx, tx.now - span, waits)
        found |= {uid: _and(said, words) for uid, words in lost.items()}
    alike: dict[str, list[str]] = {}
    for uid, message in found.items():
        alike.setdefault(message, []).append(uid)
    return alike


def _and(said: str, words: str) -> str:
    return f"{said}: {words}" if words else said


def take_back_unready(
    tx: Transaction, given: Queueing, term: int, last_down: LastDown = _NEVER
) -> int:
    """Evict what is not ready in time: it backs off and queues again; how many. Raises StaleTerm."""
    tx.require_term(term)
    requeue = Requeue(
        counted=True, later=given.requeuing_timestamp == "Eviction", back_off=back_off_of(given)
    )
    return sum(
        len(
            evict(
                tx, uids, PODS_READY_TIMEOUT, message,
                requeue=requeue,
            )
        )
        for message, uids in unready(tx, given, last_down).items()
    )  # fmt: skip


def note_runs(tx: Transaction, moves: Sequence[WorkloadMove]) -> None:
    """Of jobs that failed and are tried again: add the time they ran to what `moves` will set."""
    again = [move for move in moves if "retry_epoch" in move]
    if not again:
        return
    found = workloads.get_many(tx, [move["uid"] for move in again])
    for move in again:
        row = found.get(move["uid"])
        if row is not None and row.max_runtime_s:
            move["ran_s"] = row.ran_s + run_time_s(row, tx.now)

"""Preview of a job's end: the freed quota, and the waiting jobs that it would admit.

Each of the first that wait is tried by itself by the engine, on the picture as it is and on the one without
the job: of two that could start neither sees the room that the other would take.
"""

import asyncio
import datetime as dt
import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.queueing.pending import WaitingLane
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.whatif.trial import Trial, Variation
from hub.services.context.hub import Hub
from hub.services.explain import case as cases
from hub.services.index.index import FindIndex, ScheduleIndex
from hub.store import workloads
from hub.store.transaction import Transaction
from shared import quantity
from shared.documents import Json

MOST: Final = 6  # of those that wait, who are tried: the first of its own queue, then of its tree
STUDY_S: Final = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class _Departure:
    """One holder, the picture that it is on, and the first who wait for what it holds."""

    holder: AdmittedWorkload
    snapshot: Snapshot
    waiting: tuple[PendingWorkload, ...]


async def if_gone(hub: Hub, uid: str, find_index: FindIndex) -> Json:
    """{"freed": [{resource, flavor, amount}], "starts": [{uid, namespace, name}], "tried", "complete"}.

    Nothing is freed by what holds nothing. Who waits and may not be seen counts in "hidden".
    """
    index, now = find_index(), hub.clock.now()
    left = None if index is None else _departure(index, uid, now)
    if left is None:
        return {"freed": [], "starts": [], "hidden": 0, "tried": 0, "complete": True}
    until = hub.clock.monotonic() + STUDY_S
    profile = cases.profile_of(hub.settings, now)

    def may_go_on() -> bool:
        return hub.clock.monotonic() < until

    async with hub.studying:
        starting, tried = await asyncio.to_thread(_starting, left, now, profile, may_go_on)
    shown = await hub.read(_shown, starting)
    return {
        "freed": [
            {
                "resource": of.resource,
                "flavor": of.flavor,
                "amount": quantity.canonical(of.resource, amount),
            }
            for of, amount in sorted(left.holder.usage.items())
            if amount
        ],
        "starts": shown,
        "hidden": len(starting) - len(shown),
        "tried": tried,
        "complete": tried == len(left.waiting),
    }


def _departure(index: ScheduleIndex, uid: str, now: dt.datetime) -> _Departure | None:
    """Who would go, with its own picture. In the event loop."""
    found = (held[uid] for held in index.holders.values() if uid in held)
    holder = next(found, None)
    if holder is None:
        return None
    tree = index.ledger.tree
    names = [holder.queue]
    if holder.queue in tree.queues:
        root = tree.queues[holder.queue].root()
        names += [] if root.is_queue else [each.name for each in root.queues()]
    waiting = tuple(islice(_first(index, dict.fromkeys(names)), MOST))
    queues: list[tuple[ClusterQueue, list[Lane]]] = [
        (queue, []) for _, queue in sorted(index.routes.queues.items())
    ]
    return _Departure(holder, cases.snapshot_of(index, queues, now), waiting)


def _first(index: ScheduleIndex, names: dict[str, None]) -> Iterator[PendingWorkload]:
    """Who waits in these queues, queue by queue, each in its order."""
    rank_of = index.waiting.rank_of
    for name in names:
        lines: list[list[tuple[float, int, Entry, WaitingLane]]] = []
        for lane in index.waiting.lanes(name):
            first = lane.first(MOST)
            rank = rank_of(lane.demand, first[0]) if rank_of is not None and first else 0.0
            lines.append([(rank, -lane.demand.priority, entry, lane) for entry in first])
        for _, _, entry, lane in heapq.merge(*lines, key=lambda each: each[:3]):
            demand = lane.demand
            yield PendingWorkload(
                uid=entry.uid, namespace=entry.namespace, name="", queue=demand.queue,
                pod_sets=demand.pod_sets, priority=demand.priority, queued_at=entry.queued_at,
                local_queue=entry.local_queue, demand=demand, epoch=entry.epoch,
            )  # fmt: skip


def _starting(
    left: _Departure, now: dt.datetime, profile: Profile, may_go_on: Callable[[], bool]
) -> tuple[list[str], int]:
    """Uids of those that would be let in once it is gone and are not now; how many were tried."""
    found: list[str] = []
    tried = 0
    gone = Variation(gone=(left.holder,))
    for who in left.waiting:
        if not may_go_on():
            break
        trial = Trial(left.snapshot, who, now, profile, may_go_on=may_go_on)
        tried += 1
        if not trial.fits(Variation()) and trial.fits(gone):
            found.append(who.uid)
    return found, tried


def _shown(tx: Transaction, uids: list[str]) -> list[Json]:
    rows = workloads.get_many(tx, uids)
    return [
        {"uid": uid, "namespace": row.namespace, "name": row.name}
        for uid in uids
        if (row := rows.get(uid)) is not None
        and tx.scope.shows(row.namespace, row.queue, row.owner)
    ]

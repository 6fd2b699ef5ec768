"""Charged jobs that are wanted larger than they are: they grow by what a cycle leaves over."""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from hub.domain.fleet.free_capacity import Layout, Need, Room
from hub.domain.queueing.pending import Waiting
from hub.domain.quota import resize
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.ledger import Ledger
from hub.services.index.catalog import Routes
from hub.services.index.charged import Charges
from hub.store.schedule import SchedulingRow
from shared.documents import Json


@dataclass(frozen=True, slots=True)
class Wish:
    """A job that may grow now."""

    uid: str
    epoch: int
    admission: Json


class GrowthPlace(NamedTuple):
    """The queues that a job is to grow by, and the cluster that runs it."""

    namespace: str
    local_queue: str
    cluster_queue: str
    cluster: str


@functools.lru_cache(maxsize=10_000)  # equal workloads have equal bytes
def _size_changes(admission: bytes | None) -> tuple[bool, bool]:
    """True if more pods are wanted than are admitted, and whether some are leaving."""
    told = {} if admission is None else orjson.loads(admission)
    return "wanted" in told, "shrinks" in told


class Wishes:
    """Charged jobs that are wanted larger than they are. Part of the scheduler's index."""

    def __init__(self, routes: Routes, charges: Charges) -> None:
        self._routes = routes
        self._charges = charges
        self._rows: dict[str, tuple[int, Json]] = {}  # uid → epoch, admission
        self.shrinking: set[str] = set()  # uids whose members have not confirmed the smaller size

    def __bool__(self) -> bool:
        return bool(self._rows)

    def follow(self, row: SchedulingRow) -> None:
        """A row was read: it is kept while it runs smaller than wanted."""
        wanted, shrinks = _size_changes(row.admission)
        (self.shrinking.add if shrinks else self.shrinking.discard)(row.uid)
        if not wanted or row.admission is None:
            self._rows.pop(row.uid, None)
        else:
            self._rows[row.uid] = (row.epoch, orjson.loads(row.admission))

    def served(self, keep: frozenset[str], ledger: Ledger, room: Room) -> list[Wish]:
        """Those that may grow from what `ledger` and `room` (both up to date) have left, in order.

        `keep`: ClusterQueues that others wait for, so that nothing they may get is taken.
        """
        for uid in [uid for uid in self._rows if self._charges.holder(uid) is None]:
            del self._rows[uid]
        hopeful = [h for h in self._in_order() if h.queue not in keep and self._fits(h, ledger)]
        if not hopeful:
            return []
        left, free = ledger.copy(), room.copy()
        return [
            Wish(holder.uid, *self._rows[holder.uid])
            for holder in hopeful
            if self._take(holder, left, free)
        ]

    def _fits(self, holder: AdmittedWorkload, ledger: Ledger) -> bool:
        """Is there quota for it, as things stand?"""
        wanted = resize.growth(self._rows[holder.uid][1])
        return wanted is not None and all(
            ledger.available(holder.queue, of) >= amount for of, amount in wanted.charge.items()
        )

    def _in_order(self) -> Iterator[AdmittedWorkload]:
        found = (self._charges.holder(uid) for uid in self._rows)
        there = [h for h in found if h is not None and not h.evicted and self._may_grow(h)]
        yield from sorted(there, key=lambda h: (-h.priority, h.queued_at, h.uid))

    def _may_grow(self, holder: AdmittedWorkload) -> bool:
        return self._routes.may_grow(holder.namespace, holder.local_queue, holder.queue)

    def _take(self, holder: AdmittedWorkload, left: Ledger, free: Room) -> bool:
        """Does all of it fit? Then it is taken."""
        wanted = resize.growth(self._rows[holder.uid][1])
        at = free.layout.position.get(holder.cluster)
        needs = None if wanted is None else needs_of(holder, wanted, free.layout)
        if wanted is None or at is None or needs is None:
            return False
        if not any(wanted.pods) or left.take(holder.queue, wanted.charge) != 1:
            return False
        if free.take_all(needs, at):
            return True
        left.release(holder.queue, wanted.charge)
        return False


def needs_of(
    holder: AdmittedWorkload, missing: resize.MissingPods, layout: Layout
) -> list[tuple[Need, int]] | None:
    """The needs of the missing pods in its cluster; None where they are not known."""
    if len(holder.pods) != len(missing.pods):
        return None
    return [
        (layout.need(requests, ask), pods)
        for (requests, ask, _), pods in zip(holder.pods, missing.pods, strict=True)
        if pods
    ]


def contested(
    routes: Routes, waiting: Waiting, claims: Iterable[str], ledger: Ledger
) -> frozenset[str]:
    """ClusterQueues of trees in which somebody waits for just what becomes free.

    That is the head of a StrictFIFO queue, or a workload for which others were told to go.
    """
    queues = {name for name in waiting.queues() if name in routes.queues}
    heads = {name for name in queues if routes.queues[name].strict}
    lanes = (waiting.find(uid) for uid in claims)
    heads |= {lane.demand.queue for lane in lanes if lane is not None}
    tree = ledger.tree.queues
    roots = [tree[name].root() for name in heads & tree.keys()]
    return frozenset(heads | {node.name for root in roots for node in root.queues()})

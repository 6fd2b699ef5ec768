"""Rows that wait, taken into the scheduler's index: where each stands, and what it should say of that."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from hub.domain.instants import to_micros
from hub.domain.plan import CYCLES, Reason
from hub.domain.queueing.lanes import Entry
from hub.domain.queueing.pending import Told, Waiting, WaitingLane
from hub.domain.workloads.demand import SAID_BY_MEMBER, Demand
from hub.services.index.catalog import Routes
from hub.services.index.held_back import Aside, BackingOff, HeldBack
from hub.services.index.nominations import Claims
from hub.services.index.pending_reasons import PendingReasons
from hub.services.index.pending_router import PendingRouter
from hub.services.index.waiting.at_start import AtStart, in_order
from hub.store.schedule import Alike, SchedulingRow

_LEFT_OUT: Final = "JobNeedsOneCluster"
_LONG_AGO: Final = dt.datetime.min.replace(tzinfo=dt.UTC)


class PendingRows:
    """Part of the scheduler's index. `held_back`: who waits and can not be considered."""

    def __init__(
        self,
        routes: Routes,
        waiting: Waiting,
        line: PendingRouter,
        claims: Claims,
        backing_off: BackingOff,
    ) -> None:
        self.held_back = Aside()
        self.reasons = PendingReasons()
        self._routes = routes
        self._waiting = waiting
        self._line = line
        self._claims = claims
        self._backing_off = backing_off

    def stop(self, uid: str) -> None:
        """A workload waits no longer."""
        self._waiting.remove(uid)
        self.held_back.drop(uid)
        self._backing_off.forget(uid)
        self.reasons.forget(uid)
        self.reasons.note(uid, "")
        self._end_claim(uid)

    def _end_claim(self, uid: str) -> None:
        """Nothing is kept for who waits no longer, or may not be admitted: others may have it."""
        if self._claims.drop(uid):
            self._waiting.wake_all_for_room()

    def follow(self, row: SchedulingRow) -> None:
        """A workload waits, as its row says."""
        route, demand = self._line.place(row)
        if demand is None:
            self._waiting.remove(row.uid)
            self._end_claim(row.uid)
            held = HeldBack(row.namespace, row.queue, route.reason, route.message)
            self.held_back.put(row.uid, held)
            self._tell(row, (row.uid,), route.reason, route.message)
            return
        self.held_back.drop(row.uid)
        entry = Entry(
            to_micros(row.queued_at),
            row.uid,
            row.epoch,
            row.parallelism,
            row.completions,
            row.namespace,
            route.local_queue,
            row.generation,
        )
        self._waiting.add(demand, entry)
        self.reasons.note(row.uid, row.reason)
        self._claims.read(row, demand.constraints)
        self._tell_as_class(row, entry, self._waiting.lane(demand))

    def _tell_as_class(self, row: SchedulingRow, entry: Entry, lane: WaitingLane) -> None:
        """See that a row says what its class was told last, whichever way it came to stand in it."""
        refusal = lane.parked
        if refusal is None and row.uid in self._claims:
            return  # the row names its dependencies
        if refusal is None and (queue := self._routes.queues.get(lane.demand.queue)) is not None:
            behind = self._waiting.behind_head(queue, lane)
            lane.refusal = refusal = behind or lane.refusal
        if refusal is None and lane.told is not None and row.reason != lane.told.reason:
            lane.owe(entry)
        if refusal is None and row.reason in CYCLES:
            return  # a cycle said so before this hub led: the next one says what is so now
        if refusal is None or refusal.head == row.uid:
            if row.reason:
                self._tell(row, (row.uid,), "", "")  # what held it back no longer does
        elif row.reason != refusal.reason:
            self._tell(row, (row.uid,), refusal.reason, refusal.message)

    def fill(self, backlog: AtStart) -> None:
        """Insert all waiting workloads at the start: the same as row by row, with none parked yet."""
        joined: dict[str, tuple[Demand, list[tuple[str, Sequence[Entry]]]]] = {}
        for alike, entries in backlog.classes.items():
            demand = self._place(alike, entries)
            if demand is not None:
                joined.setdefault(demand.key, (demand, []))[1].append((alike.reason, entries))
        for demand, classes in joined.values():
            self._waiting.fill(demand, in_order([entries for _, entries in classes]))
            _remember_told(self._waiting.lane(demand), classes)

    def _place(self, alike: Alike, entries: Sequence[Entry]) -> Demand | None:
        """The demand of a class that may be considered; who may not is held back."""
        route, demand = self._line.stand(alike)
        uids = (entry.uid for entry in entries)
        if demand is None:
            held = HeldBack(alike.namespace, alike.queue, route.reason, route.message)
            for entry in entries:
                self.held_back.put(entry.uid, held)
            self._tell(alike, uids, route.reason, route.message)
        elif alike.reason and alike.reason not in CYCLES:
            for entry in entries:
                self.reasons.note(entry.uid, alike.reason)
            self._tell(alike, uids, "", "")
        return demand

    def _tell(
        self, row: SchedulingRow | Alike, uids: Iterable[str], reason: str, message: str
    ) -> None:
        """Have rows say this, `uids`, which all say what `row` does."""
        if row.reason == _LEFT_OUT and reason == Reason.AWAITING_PLACEMENT:
            return  # the placement that left it out has said more
        if row.reason in SAID_BY_MEMBER and reason in ("", Reason.NO_CLUSTER_MATCHES):
            return  # the member that refused it has said more
        for uid in uids:
            if (row.reason, row.message) == (reason, message):
                self.reasons.forget(uid)
            else:
                self.reasons.one(uid, reason, message)


def _remember_told(lane: WaitingLane, classes: Sequence[tuple[str, Sequence[Entry]]]) -> None:
    """What most rows of a lane say stands, but for its numbers, which the first are told anew.

    Else each start would have a million rows written that say it already.
    """
    said: Counter[str] = Counter()
    for reason, entries in classes:
        if reason in CYCLES:
            said[reason] += len(entries)
    if not said or 2 * max(said.values()) < len(lane):
        return
    most = max(said, key=said.__getitem__)
    lane.told = Told(most, "", _LONG_AGO)
    for reason, entries in classes:
        if reason != most:
            lane.untold.update((entry.uid, entry) for entry in entries)

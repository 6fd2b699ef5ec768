"""When a waiting workload will be admitted: known ends of runs played forward through the cycle itself.

Only its own tree of queues takes part. A workload without known runtime never ends here, so the answer
is an instant that rests on named ends, or the reason why there is none. A preempted workload, now or in
the simulation, leaves at once and does not come back.
"""

import datetime as dt
import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from hub.domain.cycle.cycle import schedule
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.instants import from_micros, to_micros
from hub.domain.plan import Placement, Plan
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import AdmittedWorkload, Pods
from hub.domain.workloads.demand import Demand
from shared.resources import Resources

STEPS: Final = 500  # instants looked at
TOO_MUCH: Final = "too many workloads are ahead of it to simulate to the end"


@dataclass(frozen=True, slots=True)
class Runtimes:
    """Known runtimes: the ends of holders, and the durations of waiting workloads (microseconds)."""

    ends: Mapping[str, int] = field(default_factory=dict)
    lasting: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Forecast:
    """`at` None: `why` says why not. `ends`: uids whose ends it rests on, in order of time.

    `admitted`: how many others go before it. `not_before`: how far was looked, where nothing was found.
    """

    at: dt.datetime | None
    why: str = ""
    ends: tuple[str, ...] = ()
    admitted: int = 0
    preempted: tuple[str, ...] = ()
    not_before: dt.datetime | None = None


def forecast(
    snapshot: Snapshot,
    uid: str,
    runtimes: Runtimes,
    now: dt.datetime,
    profile: Profile,
    may_go_on: Callable[[], bool] = lambda: True,
    short: Collection[str] = (),
) -> Forecast:
    """When `uid` is admitted. `snapshot` holds its tree's queues with those who wait in them; `short`
    names demands of which not all are there: once those that are have gone, nothing more is known.
    """
    play = _Play(snapshot, runtimes, now, profile)
    for _ in range(STEPS):
        if not may_go_on():
            break
        if uid in play.admit():
            return play.told(play.now, "")
        if play.used_up(short):
            break
        if not play.settled:
            continue
        if not play.go_on():
            return play.told(None, "no other known end would free enough for it")
    return play.told(None, TOO_MUCH)


class _Play:
    """Queues, quota and room over time."""

    def __init__(
        self, snapshot: Snapshot, runtimes: Runtimes, now: dt.datetime, profile: Profile
    ) -> None:
        self.now = self._began = now
        self.settled = False  # will another look at the same instant change nothing?
        self._profile = profile
        self._runtimes = runtimes
        self._lanes: list[tuple[ClusterQueue, list[tuple[Demand, list[Entry]]]]] = [
            (queue, [(lane.demand, list(lane.entries)) for lane in lanes])
            for queue, lanes in snapshot.queues
        ]
        self._holders = {queue: dict(held) for queue, held in snapshot.holders.items()}
        self._ranks = None if snapshot.ranks is None else snapshot.ranks.copy()
        self._picture = replace(snapshot, ledger=snapshot.ledger.copy(), room=snapshot.room.copy())
        self._claims = {u: replace(n, leaving=()) for u, n in snapshot.nominations.items()}
        present = to_micros(now)
        self._ends = [(at, uid) for uid, at in runtimes.ends.items() if at > present]
        heapq.heapify(self._ends)
        self._queue_of = {uid: queue for queue, held in self._holders.items() for uid in held}
        self._waited_for: list[str] = []
        self._admitted = 0
        self._preempted: list[str] = []
        leaving = [h.uid for held in self._holders.values() for h in held.values() if h.evicted]
        self._leave(leaving)

    def told(self, at: dt.datetime | None, why: str) -> Forecast:
        """The answer, with what it rests on."""
        return Forecast(
            at, why, tuple(self._waited_for), max(0, self._admitted - (at is not None)),
            tuple(self._preempted), None if at is not None else self.now,
        )  # fmt: skip

    def used_up(self, short: Collection[str]) -> bool:
        """Have all that are there of some of these demands been admitted?"""
        return bool(short) and any(
            not entries and demand.key in short
            for _, lanes in self._lanes
            for demand, entries in lanes
        )

    def admit(self) -> set[str]:
        """One cycle at the present instant; who was admitted."""
        rules = self._profile.rules
        limits = replace(rules.limits, now=to_micros(self.now))
        profile = replace(self._profile, rules=replace(rules, limits=limits))
        queues = [
            (queue, [Lane(demand, entries) for demand, entries in lanes if entries])
            for queue, lanes in self._lanes
        ]
        picture = replace(
            self._picture, queues=queues, holders=self._holders, ranks=self._ranks,
            nominations=self._claims, clusters=self._heard(),
        )  # fmt: skip
        plan = schedule(picture, self.now, profile)
        admitted = self._carry_out(plan)
        for eviction in plan.evictions:
            self._preempted.append(eviction.uid)
        self._leave([eviction.uid for eviction in plan.evictions])
        self.settled = not admitted and not plan.evictions
        return admitted

    def _heard(self) -> Mapping[str, Cluster]:
        """Clusters as silent as they were when the play began."""
        later = self.now - self._began
        return {
            name: cluster
            if cluster.heartbeat_at is None
            else replace(cluster, heartbeat_at=cluster.heartbeat_at + later)
            for name, cluster in self._picture.clusters.items()
        }

    def go_on(self) -> bool:
        """To the next end; False where none is known."""
        while self._ends:
            at, uid = heapq.heappop(self._ends)
            if uid not in self._queue_of:
                continue
            self.now = from_micros(at)
            ended = [uid]
            while self._ends and self._ends[0][0] == at:
                _, other = heapq.heappop(self._ends)
                if other in self._queue_of:
                    ended.append(other)
            self._waited_for += ended
            self._leave(ended)
            return True
        return False

    def _carry_out(self, plan: Plan) -> set[str]:
        placed = {p.uid: p for p in plan.placements}
        if not placed:
            return set()
        for _, lanes in self._lanes:
            for demand, entries in lanes:
                gone = [entry for entry in entries if entry.uid in placed]
                if gone:
                    entries[:] = [entry for entry in entries if entry.uid not in placed]
                for entry in gone:
                    self._enter(placed[entry.uid], demand, entry)
        self._admitted += len(placed)
        return set(placed)

    def _enter(self, placement: Placement, demand: Demand, entry: Entry) -> None:
        assigned, room, at = placement.assignment, self._picture.room, to_micros(self.now)
        parts = zip(demand.pod_sets, assigned.asks, assigned.pod_sets, strict=True)
        pods: Pods = tuple((p.requests, ask, given.count) for p, ask, given in parts)
        holder = AdmittedWorkload(
            uid=placement.uid, namespace=entry.namespace, name="", queue=placement.queue,
            usage=assigned.charge, priority=demand.priority, queued_at=entry.queued_at,
            reserved_at=at, local_queue=entry.local_queue, cluster=placement.cluster,
            started_at=at, pods=pods,
        )  # fmt: skip
        self._holders.setdefault(holder.queue, {})[holder.uid] = holder
        self._queue_of[holder.uid] = holder.queue
        self._claims.pop(holder.uid, None)
        self._picture.ledger.charge(holder.queue, holder.usage)
        where = room.layout.position.get(holder.cluster)
        if where is not None:
            for requests, ask, count in pods:
                room.promise(room.layout.need(requests, ask), count, where)
        if self._ranks is not None:
            self._ranks.penalise(f"{entry.namespace}/{entry.local_queue}", holder.usage)
        lasts = self._runtimes.lasting.get(holder.uid)
        if lasts is not None:
            heapq.heappush(self._ends, (at + lasts, holder.uid))

    def _leave(self, uids: Iterable[str]) -> None:
        """These hold nothing any more; equal pods leave a cluster together."""
        room = self._picture.room
        pods: Counter[tuple[int, Resources, NodeAsk]] = Counter()
        for uid in uids:
            queue = self._queue_of.pop(uid, None)
            if queue is None:
                continue
            holder = self._holders[queue].pop(uid)
            self._picture.ledger.release(queue, holder.usage)
            where = room.layout.position.get(holder.cluster)
            if where is not None:
                for requests, ask, count in holder.pods:
                    pods[where, requests, ask] += count
        for (where, requests, ask), count in pods.items():
            room.give_back(room.layout.need(requests, ask), count, where)

"""A load in virtual time: the same rounds as a hub's, between arrivals and ends of runs.

At each instant everything that happens then happens first; then rounds are played until nothing moves
any more. Deciding takes no time. A workload runs from its admission; one that is preempted stops,
leaves after the grace period, waits again with its old place, and starts its run anew.
"""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final

from hub.domain.cycle.attempt import Attempt, Ending
from hub.domain.queueing.requeue import Where
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.quota.usage_history import request_of
from hub.domain.workloads.demand import Demand
from hub.offline.inputs.scene import Scene
from hub.offline.loads.load import MICROSECONDS, Arrival, Load
from hub.offline.play.engine import Engine, engine_of

MOST_ROUNDS: Final = 1_000_000  # at one instant
MOST_EVICTIONS: Final = 20  # of one workload at one instant: a mutual eviction stops it


class Event(IntEnum):
    """Events; of one instant in this order."""

    FINISH = 0
    GONE = 1  # a preempted workload has left
    SAMPLE = 2
    RIPE = 3  # it may be preempted from now on: its minimum runtime has passed
    ARRIVE = 4


@dataclass(slots=True, eq=False)
class Life:
    """One workload of the load, and its result. Times in microseconds after the start."""

    who: PendingWorkload
    class_name: str
    runtime: int
    arrived: int
    admitted: int | None = None  # the last time
    first_admitted: int | None = None
    finished: int | None = None
    preemptions: int = 0
    lost: int = 0  # microseconds that were run in vain
    cluster: str = ""
    counts: dict[str, int] = field(default_factory=dict)  # pods per pod set, as last admitted
    holder: AdmittedWorkload | None = None
    reason: str = ""  # why it waits, as last said
    epoch: int = 0  # raised by each admission and each preemption


@dataclass(slots=True)
class Preemption:
    """One workload told to go."""

    at: int
    uid: str
    queue: str
    reason: str
    by: str  # uid of the preemptor
    ran: int


@dataclass(slots=True)
class History:
    """Results: every workload, every preemption, and each queue's use and line over time."""

    lives: dict[str, Life] = field(default_factory=dict)
    preemptions: list[Preemption] = field(default_factory=list)
    points: dict[str, list[tuple[int, dict[str, int], int]]] = field(default_factory=dict)
    rounds: int = 0
    end: int = 0


class Timeline:
    """Plays a load on a scene. `run` returns what was seen, as far as `until` microseconds."""

    def __init__(self, scene: Scene, load: Load, until: int | None = None) -> None:
        self.scene = scene
        self.engine: Engine = engine_of(scene)
        self.history = History()
        self._until = until
        self._grace = round(scene.settings.eviction_grace * MICROSECONDS)
        self._counter = itertools.count()
        self._events: list[tuple[int, Event, int, object]] = []
        self._trees = _trees(self.engine)
        self.engine.waiting.may_change = self.engine.rounds.may_change
        self._woken: set[int] = set()
        self._changed: set[str] = set()
        self._sampled = 0
        self._ripens = scene.settings.rules.limits.minimum_runtime or None
        self._timed = bool(scene.settings.rules.limits.minimum_runtime) or (
            scene.settings.rules.block_admission
        )
        self._classes: dict[tuple[str, int], Demand] = {}  # by LocalQueue and kind of the load
        self._doors = {key: q.cluster_queue for key, q in scene.local_queues.items()}
        for arrival in load.arrivals:
            self._at(arrival.at, Event.ARRIVE, arrival)
        if scene.settings.history is not None and load.arrivals:
            self._at(self._sampling(), Event.SAMPLE, None)

    def _sampling(self) -> int:
        history = self.scene.settings.history
        return max(1, round(history.sampling * MICROSECONDS)) if history else 0

    def _at(self, at: int, event: Event, subject: object) -> None:
        heapq.heappush(self._events, (at, event, next(self._counter), subject))

    def run(self) -> History:
        """Play until nothing is left to happen."""
        self._settle(0)
        while self._events and (self._until is None or self._events[0][0] <= self._until):
            at = self._events[0][0]
            while self._events and self._events[0][0] == at:
                _, event, _, subject = heapq.heappop(self._events)
                self._happens(at, event, subject)
            self._settle(at)
            self.history.end = at
        if self._until is not None:
            self.history.end = self._until
        return self.history

    def _happens(self, at: int, event: Event, subject: object) -> None:
        match event, subject:
            case Event.ARRIVE, Arrival():
                self._arrive(at, subject)
            case Event.FINISH, (Life() as life, int(epoch)):
                if life.epoch == epoch and life.holder is not None:
                    life.finished = at
                    self._leave(life)
            case Event.GONE, Life():
                self._leave(subject)
                self.engine.waiting.add([subject.who])
            case Event.RIPE, Life():
                if subject.holder is not None:
                    self._woken.add(self._trees[subject.holder.queue])
            case Event.SAMPLE, _:
                self._sample(at)

    def _arrive(self, at: int, arrival: Arrival) -> None:
        door = f"{arrival.namespace}/{arrival.local_queue}"
        kind, queue = arrival.kind, self._doors.get(door, "")
        who = PendingWorkload(
            uid=arrival.name, namespace=arrival.namespace, name=arrival.name, queue=queue,
            pod_sets=kind.pod_sets, priority=kind.priority, queued_at=self.scene.now + at,
            local_queue=arrival.local_queue, demand=self._classes.get((door, id(kind))),
        )  # fmt: skip
        if who.demand is None and queue:
            demand = self._classes[door, id(kind)] = self.engine.waiting.class_of(who)
            who = replace(who, demand=demand)
        life = Life(who, kind.name, kind.runtime, at)
        self.history.lives[who.uid] = life
        hold = self.engine.hold(self.scene, who)
        if hold is not None:
            life.reason = hold.reason.value
            return
        self.engine.waiting.add([who])
        self._changed.add(who.queue)

    def _leave(self, life: Life) -> None:
        """It holds nothing any more; those that its tree keeps parked may try again."""
        holder = life.holder
        assert holder is not None
        life.holder = None
        self.engine.quota_state.remove(holder)
        self.engine.rounds.begin_anew()
        if self.engine.fleet is not None:
            self.engine.fleet.release(holder.uid)
        self._woken.add(self._trees[holder.queue])
        self._changed.add(holder.queue)

    def _sample(self, at: int) -> None:
        ranks = self.engine.ranks
        assert ranks is not None
        current: dict[str, dict[str, float]] = {}
        for holder in self.engine.quota_state.all_holders():
            used = current.setdefault(f"{holder.namespace}/{holder.local_queue}", {})
            for resource, amount in request_of(holder.usage).items():
                used[resource] = used.get(resource, 0.0) + amount
        ranks.sample(current, (at - self._sampled) / MICROSECONDS)
        self._sampled = at
        if self._events:
            self._at(at + self._sampling(), Event.SAMPLE, None)

    def _settle(self, at: int) -> None:
        """Rounds until nothing moves."""
        self.engine.rounds.begin_anew()
        before: list[tuple[str, Ending]] = []
        first = len(self.history.preemptions)
        for _ in range(MOST_ROUNDS):
            self._wake()
            attempts = self.play_round(self.scene.now + at)
            self.history.rounds += bool(attempts)
            moved = [self._note(at, attempt) for attempt in attempts]
            now = [(a.who.uid, a.ending) for a in attempts]
            if not any(moved) and (now == before or not any(map(_again, attempts))):
                break
            if not self.history.rounds % 256 and self._in_turn(first):
                break
            before = now
        self._observe(at)

    def _in_turn(self, first: int) -> bool:
        """Do workloads evict each other again and again, and no time passes?"""
        evicted = Counter(p.uid for p in self.history.preemptions[first:])
        return max(evicted.values(), default=0) > MOST_EVICTIONS

    def play_round(self, now: int) -> list[Attempt]:
        """One round of the engine."""
        return self.engine.round(now)

    def _wake(self) -> None:
        for tree in self._woken:
            for name in self._members(tree):
                self.engine.waiting.wake(name)
        self._woken.clear()

    def _members(self, tree: int) -> Iterator[str]:
        return (name for name, root in self._trees.items() if root == tree)

    def _note(self, at: int, attempt: Attempt) -> bool:
        """The result of one attempt; whether it changed the holders of quota."""
        self._changed.add(attempt.who.queue)
        life = self.history.lives.get(attempt.who.uid)
        if life is not None:
            life.reason = attempt.reason.value
        if attempt.ending is Ending.ADMITTED:
            self._admit(at, attempt, life)
            return True
        if attempt.ending is not Ending.PREEMPTING:
            return False
        new = [v for v in attempt.victims if not v.holder.evicted]
        for victim in new:
            self._evict(at, victim.holder.uid, victim.cause.value, attempt.who.uid)
        return bool(new)

    def _admit(self, at: int, attempt: Attempt, life: Life | None) -> None:
        holder = self.engine.holder(attempt.who)
        if self._timed:
            quota_state = self.engine.quota_state
            quota_state.remove(holder)
            holder = replace(holder, started_at=self.scene.now + at, pods_ready=True)
            quota_state.add(holder)
        if life is None:
            return  # of the manifests: its runtime is unknown
        life.holder, life.admitted, life.cluster = holder, at, attempt.cluster or ""
        assigned = attempt.search.assignment
        life.counts = {p.name: p.count for p in (assigned.pod_sets if assigned else ())}
        if life.first_admitted is None:
            life.first_admitted = at
        life.epoch += 1
        self._at(at + life.runtime, Event.FINISH, (life, life.epoch))
        if self._ripens is not None and self._ripens < life.runtime:
            self._at(at + self._ripens, Event.RIPE, life)

    def _evict(self, at: int, uid: str, reason: str, by: str) -> None:
        life = self.history.lives.get(uid)
        if life is None or life.admitted is None:
            return
        life.epoch += 1  # its end is called off
        life.preemptions += 1
        ran = at - life.admitted
        life.lost += ran
        life.holder = self.engine.holder(life.who)
        self.history.preemptions.append(Preemption(at, uid, life.who.queue, reason, by, ran))
        if self._grace:
            self._at(at + self._grace, Event.GONE, life)
        else:
            self._happens(at, Event.GONE, life)

    def _observe(self, at: int) -> None:
        tree = self.engine.quota_state.tree
        for name in self._changed:
            used: dict[str, int] = {}
            for of, amount in tree.usage(name).items():
                used[of.resource] = used.get(of.resource, 0) + amount
            point = (at, used, self.engine.waiting.count(name))
            self.history.points.setdefault(name, []).append(point)
        self._changed.clear()


def _again(attempt: Attempt) -> bool:
    """May the next round treat this one, or the one behind it, otherwise?"""
    return (
        attempt.where is Where.PARKED
        or attempt.ending is Ending.SKIPPED
        or attempt.search.untried_flavors
        or attempt.starts_over
    )


def _trees(engine: Engine) -> dict[str, int]:
    """ClusterQueue → the tree it hangs in."""
    return {name: node.root().index for name, node in engine.quota_state.tree.queues.items()}

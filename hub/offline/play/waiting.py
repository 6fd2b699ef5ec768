"""Waiting workloads of a scene: the lanes of a hub's index, and each ClusterQueue's turns in them.

A refusal of a class of equals keeps its lane parked until something in its tree changes. Apart from
its equals, in a lane of its own, stands who goes before everything else, and who was refused for what
its equals do not have: failed checks, its namespace, a closed gate.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from hub.domain.cycle.attempt import Attempt
from hub.domain.plan import Refusal
from hub.domain.queueing import requeue
from hub.domain.queueing.lane_queue import LaneQueue
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.queueing.pending import Waiting
from hub.domain.queueing.requeue import Outcome, Where
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import PendingWorkload
from hub.domain.workloads.demand import Demand, explanation_key, read_constraints
from hub.domain.workloads.shape import shape_hash

_OF_EQUALS: Final = (Outcome.NO_FIT, Outcome.NO_CANDIDATES)
_AT_ONCE: Final = 64  # entries of a lane between two looks at it


class SceneQueues:
    """ClusterQueues by name, each with its turns in `turns`. `ranks`: of queues where history counts.

    The refusal of a class is kept while it waits; `may_change` says of that attempt whether the next
    one might end otherwise.
    """

    def __init__(
        self, queues: Mapping[str, ClusterQueue], ranks: Mapping[str, Mapping[str, float] | None]
    ) -> None:
        self._queues = queues
        self._ranks = ranks
        self.waiting = Waiting()
        self._who: dict[str, PendingWorkload] = {}  # by uid
        self._class: dict[str, Demand] = {}  # by uid
        self._demands: dict[tuple[object, ...], Demand] = {}
        self._sticky: set[str] = set()
        self._alone: dict[str, set[str]] = {name: set() for name in queues}  # parked alone
        self._refused: dict[str, dict[str, tuple[Attempt, Refusal]]] = {
            name: {} for name in queues
        }
        self._given: dict[str, int] = {}  # admissions since the turns of a queue were made
        self.may_change: Callable[[Attempt], bool] = _always
        self.turns: dict[str, LaneQueue] = {}
        self._changed = set(queues)  # whose turns must be computed again
        self.line_up()

    def count(self, queue: str) -> int:
        """The number of waiting workloads of a queue, parked or not."""
        return self.waiting.count(queue)

    def add(self, those: Iterable[PendingWorkload]) -> None:
        """These wait from now on, with their equals; before all, whom others were told to make room for."""
        for who in those:
            demand = self._class[who.uid] = who.demand or self.class_of(who)
            self._who[who.uid] = who
            self.waiting.add(demand, _entry(who))
            if who.nominated:
                self._put_first(who, Outcome.PENDING_PREEMPTION)
            self._changed.add(who.queue)

    def line_up(self) -> None:
        """Bring the turns of queues up to date, before a round."""
        for name in self._changed:
            lanes = [lane for lane in self.waiting.lanes(name) if lane.parked is None]
            self._given[name] = 0
            self.turns[name] = LaneQueue(
                self._queues[name],
                [Lane(lane.demand, lane.first(_AT_ONCE)) for lane in lanes],
                self._sticky,
                self._ranks[name],
                self._who,
                self._spared,
            )
        self._changed.clear()

    def settle(self, attempt: Attempt) -> None:
        """The next waiting place of a head after its turn; none once it was admitted."""
        who, outcome, queue = self._who[attempt.who.uid], attempt.outcome, attempt.who.queue
        demand = self._class[who.uid]
        if outcome is None:
            del self._who[who.uid], self._class[who.uid]
            self._sticky.discard(who.uid)
            self.waiting.remove(who.uid)
            self._given[queue] += 1
            if self._given[queue] >= _AT_ONCE:
                self._changed.add(queue)
            return
        if outcome is Outcome.PENDING_PREEMPTION and not who.nominated:
            who = self._who[who.uid] = replace(who, nominated=True)
        self._put_first(who, outcome)
        if attempt.where is Where.PARKED:
            if outcome in _OF_EQUALS:
                refusal = self._park(demand, attempt)
                self._refused[queue][demand.key] = (attempt, refusal)
            else:
                self._alone[queue].add(who.uid)
                self._park(self._stand(who, apart=True), attempt)
                self._changed.add(queue)

    def _put_first(self, who: PendingWorkload, outcome: Outcome) -> None:
        """Before all others goes who waits for victims, and for no longer than it does."""
        sticky = requeue.is_sticky(outcome, strict=self._queues[who.queue].strict)
        if sticky and who.uid not in self._sticky:
            self._sticky.add(who.uid)
            self._stand(who, apart=True)
        elif not sticky and who.uid in self._sticky:
            self._sticky.remove(who.uid)
            self._stand(who, apart=False)
            self._changed.add(who.queue)

    def wake(self, queue: str) -> None:
        """Something changed in the cohort's tree: the turn of the parked may come again."""
        there = {lane.demand.key for lane in self.waiting.lanes(queue)}
        last = self._refused[queue]
        self._refused[queue] = {key: last[key] for key in last.keys() & there}
        for uid in self._alone[queue]:
            self._stand(self._who[uid], apart=False)
        self._alone[queue].clear()
        self.waiting.wake_queue(queue)
        self._changed.add(queue)

    def _stand(self, who: PendingWorkload, *, apart: bool) -> Demand:
        """Put one into a lane of its own, or back among its equals; the demand of that lane."""
        demand = self._class[who.uid]
        if apart:
            demand = replace(demand, key=f"{demand.key}/{who.uid}")
        self.waiting.add(demand, _entry(who))
        return demand

    def _park(self, demand: Demand, attempt: Attempt) -> Refusal:
        refusal = Refusal(demand.key, demand.queue, attempt.reason, attempt.message)
        self.waiting.park([refusal])
        return refusal

    def _spared(self, demand: Demand) -> bool:
        """Would the turn of a class end as its last one? Then it is parked as before."""
        last = self._refused[demand.queue].get(demand.key)
        if last is None:
            return False
        attempt, refusal = last
        if self.may_change(attempt):
            return False
        self.waiting.park([refusal])
        return True

    def class_of(self, who: PendingWorkload) -> Demand:
        """The class of its equals: what a verdict on flavors and victims depends on.

        Where LocalQueues take turns by what they used, their workloads are no equals.
        """
        door = "" if self._ranks[who.queue] is None else f"{who.namespace}/{who.local_queue}"
        kept = tuple(sorted(who.annotations.items())) if who.annotations else ()
        key = (who.queue, who.priority, shape_hash(who.pod_sets), kept, door)
        found = self._demands.get(key)
        if found is None:
            found = self._demands[key] = demand_of(who, door)
        return found


def demand_of(who: PendingWorkload, local_queue: str = "") -> Demand:
    """The class of a workload's equals; of its LocalQueue alone, where one is given."""
    shape = shape_hash(who.pod_sets)
    kept = (who.priority, sorted(who.annotations.items()), local_queue)
    return Demand(
        key=explanation_key(who.queue, shape, kept),
        queue=who.queue,
        priority=who.priority,
        shape=shape,
        pod_sets=who.pod_sets,
        constraints=read_constraints(who.annotations, None, None, who.pod_sets),
    )


def _always(attempt: Attempt) -> bool:
    return True


def _entry(who: PendingWorkload) -> Entry:
    return Entry(who.queued_at, who.uid, 0, namespace=who.namespace, local_queue=who.local_queue)

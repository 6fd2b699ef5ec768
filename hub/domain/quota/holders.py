"""Holders of quota and applicants over one quota tree: the input of admission rules.

`QuotaState` is a cycle's own. What preemption tries, it tries on the tree alone: who holds changes only
when somebody is admitted or leaves, and what was worked out of a queue's holders lasts until then.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final

from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.quota.declared import ClusterQueue, FlavorResource, Usage
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.quota.tree import Charged, Node, QuotaTree
from hub.domain.workloads.demand import Demand
from shared.resources import PodSet, Resources

Pods = tuple[tuple[Resources, NodeAsk, int], ...]  # what one takes, on which nodes, how many

Identity = tuple[str, str, str]  # uid, namespace, name: how the last ties break


@dataclass(frozen=True, slots=True, eq=False)
class AdmittedWorkload:
    """A workload that holds quota. Times are microseconds since the epoch."""

    uid: str
    namespace: str
    name: str
    queue: str
    usage: Usage
    priority: int = 0
    queued_at: int = 0  # queue-order timestamp
    reserved_at: int = 0
    evicted: bool = False
    local_queue: str = ""
    cluster: str = ""
    pods_ready: bool = True
    started_at: int | None = None  # when it was admitted; None: it merely holds a reservation
    pods: Pods = ()  # what it takes of its cluster, where that is known
    epoch: int = 0  # by which its cluster's reports name it
    completions: int | None = None  # pods that are to succeed, where there is such a number

    @property
    def identity(self) -> Identity:
        return self.uid, self.namespace, self.name

    def uses(self, contested: Iterable[FlavorResource]) -> bool:
        """Does it use any of these?"""
        return not self.usage.keys().isdisjoint(contested)


@dataclass(frozen=True, slots=True, eq=False)
class PendingWorkload:
    """A workload that waits. `queue` is empty where its LocalQueue leads nowhere."""

    uid: str
    namespace: str
    name: str
    queue: str
    pod_sets: tuple[PodSet, ...]
    priority: int = 0
    queued_at: int = 0
    local_queue: str = ""
    active: bool = True
    requeue_at: int | None = None
    requeued: bool = True  # False: condition Requeued=False keeps it parked
    failed_checks: tuple[str, ...] = ()  # in state Retry or Rejected
    gated: bool = False  # a preemption gate is closed
    nominated: bool = False  # victims were evicted for it
    annotations: Mapping[str, str] = field(default_factory=dict)
    demand: Demand | None = None  # the class of equals it stands for, in the live cycle
    epoch: int = 0
    generation: int = 0

    @property
    def identity(self) -> Identity:
        return self.uid, self.namespace, self.name

    @property
    def quota_only(self) -> bool:
        """It asks for no room on any cluster."""
        return self.demand is not None and self.demand.quota_only


Key = tuple[object, ...]
Keyed = list[tuple[Key, AdmittedWorkload]]


class QueueHolders:
    """Those that hold quota of one queue, with what is worked out of them and lasts while they do."""

    __slots__ = ("_held", "_key", "_order", "_ranked", "_sums", "live")

    def __init__(self, holders: Mapping[str, AdmittedWorkload] | None = None) -> None:
        """Of `holders` nothing is copied; who changes them changes a `copy`."""
        self._held: dict[str, AdmittedWorkload] = holders if holders is not None else {}  # type: ignore[assignment]  # changed in copies only
        self._order: object = None
        self._key: Callable[[AdmittedWorkload], Key] | None = None
        self._ranked: Keyed = []
        self.live = 0  # where in `ranked` those begin that are not evicted
        self._sums: dict[tuple[FlavorResource, int | None, int | None], tuple[int, int]] = {}

    def __contains__(self, uid: object) -> bool:
        return uid in self._held

    def __getitem__(self, uid: str) -> AdmittedWorkload:
        return self._held[uid]

    def __iter__(self) -> Iterator[AdmittedWorkload]:
        return iter(self._held.values())

    def copy(self) -> "QueueHolders":
        other = QueueHolders(dict(self._held))
        other._order, other._key, other.live = self._order, self._key, self.live
        other._ranked, other._sums = list(self._ranked), dict(self._sums)
        return other

    def put(self, holder: AdmittedWorkload) -> None:
        """One holder more, or another in place of that one."""
        if holder.uid in self._held:
            self.drop(holder.uid)
        self._held[holder.uid] = holder
        self._sums.clear()
        if self._key is not None:
            insort(self._ranked, (self._key(holder), holder), key=_first)
            self.live += holder.evicted

    def drop(self, uid: str) -> None:
        """One holder less; raises KeyError where there is no such."""
        holder = self._held.pop(uid)
        self._sums.clear()
        if self._key is not None:
            del self._ranked[bisect_left(self._ranked, self._key(holder), key=_first)]
            self.live -= holder.evicted

    def ranked(self, order: object, key: Callable[[AdmittedWorkload], Key]) -> Keyed:
        """Holders by the order in which they would go, each with its key, which tells them apart.

        Evicted ones come first in it; `order` is the name of `key`.
        """
        if self._order != order:
            self._ranked = sorted(((key(h), h) for h in self), key=_first)
            self.live = sum(h.evicted for h in self)
            self._order, self._key = order, key
        return self._ranked

    def sums(self, of: FlavorResource, below: int | None, ripe: int | None) -> tuple[int, int]:
        """What holders of less priority than `below`, begun at `ripe` or before, hold: all, the most."""
        known = self._sums.get((of, below, ripe))
        if known is None:
            if len(self._sums) >= _MOST_SUMS:
                self._sums.clear()
            known = self._sums[of, below, ripe] = self._sum(of, below, ripe)
        return known

    def _sum(self, of: FlavorResource, below: int | None, ripe: int | None) -> tuple[int, int]:
        total = largest = 0
        for holder in self._held.values():
            if below is not None and holder.priority >= below:
                continue
            if ripe is not None and holder.started_at is not None and holder.started_at > ripe:
                continue
            amount = holder.usage.get(of, 0)
            total += amount
            largest = max(largest, amount)
        return total, largest


_first: Callable[[tuple[Key, AdmittedWorkload]], Key] = itemgetter(0)
_MOST_SUMS: Final = 64
_NONE: Final = QueueHolders()


@dataclass(frozen=True, slots=True, eq=False)
class Overlay:
    """A state that is not the present one: what is charged, and who holds it in each queue."""

    charged: Charged
    by_queue: dict[str, QueueHolders]
    own: set[str]  # queues whose holders no other queue can preempt


class QuotaState:
    """Queues, their tree, their policies, and the holders in each."""

    def __init__(
        self,
        tree: QuotaTree,
        queues: Mapping[str, ClusterQueue],
        policies: Mapping[str, QueuePolicy],
        holders: Iterable[AdmittedWorkload] = (),
        ranks: Mapping[str, float] | None = None,
        held: Mapping[str, Mapping[str, AdmittedWorkload]] | None = None,
        inactive: Collection[str] = (),
    ) -> None:
        """`holders` are charged to the tree here; `held`, by queue and uid, are charged already.

        Of `held` nothing is copied: it must stay as it is meanwhile. `inactive` queues, stopped or
        misconfigured, admit and lose no workload.
        """
        self.tree = tree
        self.queues = queues
        self.policies = policies
        self.ranks: Mapping[str, float] = ranks if ranks is not None else {}
        self.inactive = frozenset(inactive)
        self._by_queue = {queue: QueueHolders(those) for queue, those in (held or {}).items()}
        self._own: set[str] = set()  # queues whose holders may be changed in place
        for holder in holders:
            self.add(holder)

    def node(self, queue: str) -> Node:
        return self.tree.queues[queue]

    def queue_holders(self, queue: str) -> QueueHolders:
        """The holders of a queue's quota."""
        return self._by_queue.get(queue, _NONE)

    def holders(self, queue: str) -> Iterable[AdmittedWorkload]:
        """Those that hold quota of a queue, in no particular order."""
        return self.queue_holders(queue)

    def holder(self, queue: str, uid: str) -> AdmittedWorkload:
        """One that holds quota of a queue; raises KeyError for any other."""
        return self._by_queue[queue][uid]

    def all_holders(self) -> Iterator[AdmittedWorkload]:
        for queue_holders in self._by_queue.values():
            yield from queue_holders

    def holds(self, holder: AdmittedWorkload) -> bool:
        return holder.uid in self.queue_holders(holder.queue)

    def _mine(self, queue: str) -> QueueHolders:
        if queue not in self._own:
            self._own.add(queue)
            self._by_queue[queue] = self.queue_holders(queue).copy()
        return self._by_queue[queue]

    def add(self, holder: AdmittedWorkload) -> None:
        """It holds quota (again)."""
        self._mine(holder.queue).put(holder)
        if holder.queue in self.tree.queues:
            self.tree.charge(holder.queue, holder.usage)

    def hold(self, holder: AdmittedWorkload) -> None:
        """It holds quota that is charged already."""
        self._mine(holder.queue).put(holder)

    def remove(self, holder: AdmittedWorkload) -> None:
        """It holds no quota any more."""
        self._mine(holder.queue).drop(holder.uid)
        if holder.queue in self.tree.queues:
            self.tree.release(holder.queue, holder.usage)

    def mark_evicted(self, holder: AdmittedWorkload) -> None:
        """It is being evicted; it holds its quota until it is gone."""
        if not holder.evicted and self.holds(holder):
            self._mine(holder.queue).put(replace(holder, evicted=True))

    @contextmanager
    def without(self, gone: Iterable[AdmittedWorkload]) -> Iterator[None]:
        """What quota would there be if these were gone?"""
        tree = self.tree
        removed = [h for h in gone if self.holds(h) and h.queue in tree.queues]
        for holder in removed:
            tree.release(holder.queue, holder.usage)
        try:
            yield
        finally:
            for holder in removed:
                tree.charge(holder.queue, holder.usage)

    def apart(self) -> "Overlay":
        """An overlay of who holds what, for `seen_as`; it starts as things are."""
        return Overlay(self.tree.apart(), dict(self._by_queue), set())

    @contextmanager
    def seen_as(self, overlay: "Overlay") -> Iterator[None]:
        """What if things were so? Additions and removals inside the block change only the overlay."""
        before = self._by_queue, self._own
        self._by_queue, self._own = overlay.by_queue, overlay.own
        try:
            with self.tree.seen_as(overlay.charged):
                yield
        finally:
            self._by_queue, self._own = before

    def rank(self, holder: AdmittedWorkload) -> float:
        """Fair-admission rank of the LocalQueue it came from; 0 where history does not count."""
        policy = self.policies.get(holder.queue)
        if policy is None or not policy.by_usage:
            return 0.0
        return self.ranks.get(f"{holder.namespace}/{holder.local_queue}", 0.0)

"""Who holds quota and who asks for it, over one quota tree: what rules of admission look at.

`Standing` is a cycle's own: preemption tries removals on it and puts back what it tried.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from hub.domain.cohort import Node, QuotaTree
from hub.domain.demand import Demand
from hub.domain.queue_policy import QueuePolicy
from hub.domain.quota import ClusterQueue, FlavorResource, Usage
from hub.domain.room import NodeAsk
from shared.resources import PodSet, Resources

Pods = tuple[tuple[Resources, NodeAsk, int], ...]  # what one takes, on which nodes, how many

Identity = tuple[str, str, str]  # uid, namespace, name: how the last ties break


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
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

    @property
    def identity(self) -> Identity:
        return self.uid, self.namespace, self.name

    def uses(self, contested: Iterable[FlavorResource]) -> bool:
        """Does it use any of these?"""
        return not self.usage.keys().isdisjoint(contested)


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
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
    nominated: bool = False  # others were told to make room for it
    annotations: Mapping[str, str] = field(default_factory=dict)
    demand: Demand | None = None  # the class of equals it stands for, in the live cycle
    epoch: int = 0

    @property
    def identity(self) -> Identity:
        return self.uid, self.namespace, self.name

    @property
    def quota_only(self) -> bool:
        """It asks for no room on any cluster."""
        return self.demand is not None and self.demand.quota_only


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A state that is not the present one: usage by node, holders by queue. `own`: no longer shared."""

    used: list[dict[FlavorResource, int]]
    holders: dict[str, dict[str, Holder]]
    own: set[str]


class Standing:
    """Queues, their tree, their policies, and the holders in each."""

    def __init__(
        self,
        tree: QuotaTree,
        queues: Mapping[str, ClusterQueue],
        policies: Mapping[str, QueuePolicy],
        holders: Iterable[Holder] = (),
        ranks: Mapping[str, float] | None = None,
        held: Mapping[str, Mapping[str, Holder]] | None = None,
    ) -> None:
        """`holders` are charged to the tree here; `held`, by queue and uid, are charged already."""
        self.tree = tree
        self.queues = queues
        self.policies = policies
        self.ranks: Mapping[str, float] = ranks if ranks is not None else {}
        self._holders = {queue: dict(those) for queue, those in (held or {}).items()}
        for holder in holders:
            self.add(holder)

    def node(self, queue: str) -> Node:
        return self.tree.queues[queue]

    def holders(self, queue: str) -> Iterable[Holder]:
        """Those that hold quota of a queue, in no particular order."""
        return self._holders.get(queue, {}).values()

    def holder(self, queue: str, uid: str) -> Holder:
        """One that holds quota of a queue; raises KeyError for any other."""
        return self._holders[queue][uid]

    def all_holders(self) -> Iterator[Holder]:
        for held in self._holders.values():
            yield from held.values()

    def holds(self, holder: Holder) -> bool:
        return holder.uid in self._holders.get(holder.queue, {})

    def add(self, holder: Holder) -> None:
        """It holds quota (again)."""
        self._holders.setdefault(holder.queue, {})[holder.uid] = holder
        if holder.queue in self.tree.queues:
            self.tree.charge(holder.queue, holder.usage)

    def remove(self, holder: Holder) -> None:
        """It holds no quota any more."""
        del self._holders[holder.queue][holder.uid]
        if holder.queue in self.tree.queues:
            self.tree.release(holder.queue, holder.usage)

    @contextmanager
    def without(self, gone: Iterable[Holder]) -> Iterator[None]:
        """What if these were gone?"""
        removed = [h for h in gone if self.holds(h)]
        for holder in removed:
            self.remove(holder)
        try:
            yield
        finally:
            for holder in removed:
                self.add(holder)

    def apart(self) -> "Picture":
        """Another picture of who holds what, for `seen_as`; it starts as things are."""
        return Picture([dict(used) for used in self.tree.used], dict(self._holders), set())

    @contextmanager
    def seen_as(self, picture: "Picture") -> Iterator[None]:
        """What if things were so? Whatever is added or removed meanwhile changes the picture alone."""
        before = self.tree.used, self._holders
        self.tree.used, self._holders = picture.used, picture.holders
        try:
            yield
        finally:
            self.tree.used, self._holders = before

    def take_out(self, picture: "Picture", holder: Holder) -> None:
        """One holder less in a picture."""
        with self.seen_as(picture):
            if holder.queue not in picture.own:
                picture.own.add(holder.queue)
                picture.holders[holder.queue] = dict(picture.holders[holder.queue])
            if self.holds(holder):
                self.remove(holder)

    def rank(self, holder: Holder) -> float:
        """Fair-admission rank of the LocalQueue it came from; 0 where history does not count."""
        policy = self.policies.get(holder.queue)
        if policy is None or not policy.by_usage:
            return 0.0
        return self.ranks.get(f"{holder.namespace}/{holder.local_queue}", 0.0)

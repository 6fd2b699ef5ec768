"""Common parts of both kinds of preemption: candidates, their order, the fit, and filling back.

Rules and names follow Kueue's package preemption. A selection is minimal, not minimum: victims are added
one by one until the request fits, then each that is not needed is dropped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.quota.holders import AdmittedWorkload, Key, Keyed, PendingWorkload, QuotaState
from hub.domain.quota.queue_policy import NEVER, QueuePolicy
from hub.domain.quota.tree import Node


class Cause(StrEnum):
    """Reasons of a preemption, as in Kueue's condition Preempted."""

    IN_QUEUE = "InClusterQueue"
    RECLAMATION = "InCohortReclamation"
    FAIR_SHARING = "InCohortFairSharing"
    WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    FOR_ROOM = "InClusterCapacity"  # quota fits, no cluster has the room: `for_capacity`


class Victim(NamedTuple):
    """A holder and why it must go."""

    holder: AdmittedWorkload
    cause: Cause


@dataclass(frozen=True, slots=True)
class PreemptionLimits:
    """An administrator's limits on preemption; absent means Kueue's behaviour.

    `order` are tie rules after eviction and queue: LowestPriority, MostRecent, Smallest,
    LeastWorkLost. `budget`: most victims of one workload until it is admitted; `told`, by uid, are those
    that it had before. `minimum_runtime`: microseconds.
    """

    order: tuple[str, ...] = ("LowestPriority", "MostRecent")
    budget: int | None = None
    told: frozenset[str] = frozenset()
    minimum_runtime: int = 0
    now: int = 0
    protected: frozenset[str] = field(default_factory=frozenset)  # queues declared non-preemptible


@dataclass(slots=True, eq=False)
class Contest:
    """One workload asking for `usage`, short of `contested`."""

    quota_state: QuotaState
    who: PendingWorkload
    usage: Usage
    contested: frozenset[FlavorResource]
    limits: PreemptionLimits = PreemptionLimits()
    has_room: Callable[[Sequence[AdmittedWorkload]], bool] | None = (
        None  # can one cluster hold it once these are gone?
    )
    only: frozenset[str] | None = None  # uids of the candidates; None: of anybody

    node: Node = field(init=False)
    policy: QueuePolicy = field(init=False)
    spares: bool = field(
        init=False
    )  # True if some workload may be spared whatever the policies say.

    def __post_init__(self) -> None:
        self.node = self.quota_state.node(self.who.queue)
        self.policy = self.quota_state.policies[self.who.queue]
        limited = self.limits.protected or self.limits.minimum_runtime
        self.spares = bool(limited) or self.only is not None

    def fits(self, gone: Sequence[AdmittedWorkload] = (), *, borrowing: bool = True) -> bool:
        """Would it fit now? Without `borrowing` it must stay inside the queue's nominal quota.

        `gone` are those whose quota is released already, and whose room counts as free.
        """
        tree, node = self.quota_state.tree, self.node
        for of, amount in self.usage.items():
            if not borrowing and tree.borrows(node, of, amount):
                return False
            if amount > tree.available(node, of):
                return False
        return self.has_room is None or self.has_room(gone)

    def may_take(self, holder: AdmittedWorkload, policy: str) -> bool:
        """Does a policy (withinClusterQueue or reclaimWithinCohort) let it preempt this one?"""
        if policy == NEVER or (holder.priority >= self.who.priority and policy == "LowerPriority"):
            return False
        if not holder.uses(self.contested) or (self.spares and self._is_spared(holder)):
            return False
        if policy == "Any" or holder.priority < self.who.priority:
            return True
        return (
            policy == "LowerOrNewerEqualPriority"
            and holder.priority == self.who.priority
            and self.who.queued_at < holder.queued_at
        )

    def rises_from(self, holder: AdmittedWorkload) -> bool:
        """True if no later candidate of the same kind, evicted or not, has less priority."""
        return (
            self.limits.order[:1] == ("LowestPriority",) and holder.priority >= self.who.priority
        )

    def _is_spared(self, holder: AdmittedWorkload) -> bool:
        if holder.queue in self.limits.protected:
            return True
        if self.only is not None and holder.uid not in self.only and not holder.evicted:
            return True
        began = holder.started_at
        least = self.limits.minimum_runtime
        return bool(least) and began is not None and self.limits.now - began < least

    def order(self, holder: AdmittedWorkload) -> Key:
        """Order of candidates: evicted, others' before own, then `PreemptionLimits.order`."""
        evicted, *keys = order_key(self.limits.order)(holder)
        return evicted, holder.queue == self.who.queue, *keys

    def in_order(self, queue: str, policy: str) -> Keyed:
        """Candidates of a queue that its policy allows, in order of trial, each with its place.

        If history counts, candidates of LocalQueues that used more go first; other queues ignore that, so
        the places do not change.
        """
        ranked = self.ranked(queue)
        found = [item for item in ranked if self.may_take(item[1], policy)]
        if not self.quota_state.policies[queue].by_usage:
            return found
        by_use = sorted(
            found, key=lambda item: (not item[1].evicted, -self.quota_state.rank(item[1]), item[0])
        )
        return [(key, holder) for (key, _), (_, holder) in zip(found, by_use, strict=True)]

    def ranked(self, queue: str) -> Keyed:
        """All holders of a queue by `PreemptionLimits.order`, evicted ones first."""
        order = self.limits.order
        return self.quota_state.queue_holders(queue).ranked(order, order_key(order))

    def sorted(self, candidates: Iterable[AdmittedWorkload]) -> list[AdmittedWorkload]:
        """Candidates as they are tried. In a queue where history counts, those of the LocalQueue that
        used more go first; between queues it says nothing, so there such ones only change places.
        """
        listed = sorted(candidates, key=self.order)
        by_usage = {h.queue for h in listed if self.quota_state.policies[h.queue].by_usage}
        for queue in sorted(by_usage):
            places = [at for at, h in enumerate(listed) if h.queue == queue]
            ranked = sorted(
                (listed[at] for at in places),
                key=lambda h: (not h.evicted, -self.quota_state.rank(h), *self.order(h)),
            )
            for at, holder in zip(places, ranked, strict=True):
                listed[at] = holder
        return listed

    def within_budget(self, victims: Sequence[Victim]) -> bool:
        """Are these, with those that it had before, no more than are allowed?"""
        limits = self.limits
        if limits.budget is None:
            return True
        return len(limits.told.union(v.holder.uid for v in victims)) <= limits.budget


_ORDERS: Final[Mapping[str, Callable[[AdmittedWorkload], int]]] = {
    "LowestPriority": lambda h: h.priority,
    "MostRecent": lambda h: -h.reserved_at,
    "Smallest": lambda h: sum(h.usage.values()),
    "LeastWorkLost": lambda h: -(h.started_at or h.reserved_at),
}
ORDERS = tuple(_ORDERS)


@lru_cache(maxsize=64)
def order_key(order: tuple[str, ...]) -> Callable[[AdmittedWorkload], Key]:
    """Sort key of the holders of one queue: evicted first, then these rules, then identity."""
    if order == PreemptionLimits().order:  # nearly everybody's, told without a detour
        return lambda h: (not h.evicted, h.priority, -h.reserved_at, h.uid, h.namespace, h.name)
    rules = [_ORDERS[name] for name in order]
    return lambda h: (not h.evicted, *[rule(h) for rule in rules], h.uid, h.namespace, h.name)


class _Margin:
    """By how much a request fits, per flavor and resource: negative where it does not.

    While victims are added this is the maximum, while they are dropped the minimum: limits on the way may
    keep some of a change from it.
    """

    __slots__ = ("_inside", "_left", "_queue")

    def __init__(self, contest: Contest, *, borrowing: bool) -> None:
        tree, node = contest.quota_state.tree, contest.node
        self._queue = contest.who.queue
        self._left = {of: tree.available(node, of) - asked for of, asked in contest.usage.items()}
        self._inside = (  # the queue's own quota
            {}
            if borrowing
            else {
                of: node.subtree.get(of, 0) - tree.used_of(node, of) - asked
                for of, asked in contest.usage.items()
            }
        )

    def gain(self, holder: AdmittedWorkload) -> bool:
        """A holder is gone; may the request fit now?"""
        for of, amount in holder.usage.items():
            if of in self._left:
                self._left[of] += amount
                if self._inside and holder.queue == self._queue:
                    self._inside[of] += amount
        return min(self._left.values(), default=0) >= 0 and (
            not self._inside or min(self._inside.values()) >= 0
        )

    def lose(self, holder: AdmittedWorkload) -> bool:
        """A holder comes back if the request surely fits all the same."""
        own = bool(self._inside) and holder.queue == self._queue
        taken = [(of, amount) for of, amount in holder.usage.items() if of in self._left]
        for of, amount in taken:
            if self._left[of] < amount or (own and self._inside[of] < amount):
                return False
        for of, amount in taken:
            self._left[of] -= amount
            if own:
                self._inside[of] -= amount
        return True


class Removals:
    """Victims taken away on trial; when it ends everything is charged as it was."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._tree = contest.quota_state.tree
        self.taken: list[Victim] = []
        self.gone: list[AdmittedWorkload] = []  # the holders of `taken`

    def take(self, victim: Victim) -> None:
        self._tree.release(victim.holder.queue, victim.holder.usage)
        self.taken.append(victim)
        self.gone.append(victim.holder)

    def until_it_fits(self, victims: Iterable[Victim], *, borrowing: bool) -> bool:
        """Take one after the other until the request fits; False where it does not in the end."""
        contest, margin = self._contest, _Margin(self._contest, borrowing=borrowing)
        for victim in victims:
            self.take(victim)
            if margin.gain(victim.holder) and contest.fits(self.gone, borrowing=borrowing):
                return True
        return False

    def fill_back(self, *, borrowing: bool) -> list[Victim]:
        """From the second-last taken to the first, give back each one that is not needed."""
        contest = self._contest
        margin = _Margin(contest, borrowing=borrowing)
        needed = self.taken[-1:]
        for at in range(len(self.taken) - 2, -1, -1):
            holder = self.gone.pop(at)
            self._tree.charge(holder.queue, holder.usage)
            if contest.has_room is None and margin.lose(holder):
                continue
            if contest.fits(self.gone, borrowing=borrowing):
                margin = _Margin(contest, borrowing=borrowing)
                continue
            self._tree.release(holder.queue, holder.usage)
            self.gone.insert(at, holder)
            needed.append(self.taken[at])
        needed.reverse()
        self.taken = needed
        return list(needed)

    def take_again(self, taken: Sequence[Victim]) -> None:
        """All of `taken`, in an order that drops victims of other queues before own ones."""
        still = {holder.uid for holder in self.gone}
        for victim in taken:
            if victim.holder.uid not in still:
                self._tree.release(victim.holder.queue, victim.holder.usage)
        *others, last = taken
        own = [v for v in others if v.cause is Cause.IN_QUEUE]
        self.taken = [*own, *(v for v in others if v.cause is not Cause.IN_QUEUE), last]
        self.gone = [v.holder for v in self.taken]


@contextmanager
def removals(contest: Contest) -> Iterator[Removals]:
    """Try removals; whatever is removed is back at the end."""
    with contest.quota_state.tree.on_trial(contest.node):
        yield Removals(contest)

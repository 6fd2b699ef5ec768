"""What both kinds of preemption share: candidates, their order, the fit, and filling back.

Rules and names follow queueing 2.3 and 2.4. A selection is minimal, not minimum: victims are taken
one by one until the request fits, then each that turns out not to be needed is given back.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from hub.domain.cohort import Node
from hub.domain.queue_policy import NEVER, QueuePolicy
from hub.domain.quota import FlavorResource, Usage
from hub.domain.standing import Contender, Holder, Standing


class Cause(StrEnum):
    """Why a victim may be preempted: reasons of Kueue's condition Preempted."""

    IN_QUEUE = "InClusterQueue"
    RECLAMATION = "InCohortReclamation"
    FAIR_SHARING = "InCohortFairSharing"
    WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


class Victim(NamedTuple):
    """A holder and why it must go."""

    holder: Holder
    cause: Cause


@dataclass(frozen=True, slots=True)
class Limits:
    """What an administrator allows of preemption; absent means Kueue's behaviour.

    `order` are tie rules after eviction and queue: LowestPriority, MostRecent, Smallest,
    LeastWorkLost. `budget`: most victims of one preemption. `minimum_runtime`: microseconds.
    """

    order: tuple[str, ...] = ("LowestPriority", "MostRecent")
    budget: int | None = None
    minimum_runtime: int = 0
    now: int = 0
    protected: frozenset[str] = field(default_factory=frozenset)  # queues declared non-preemptible


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """One workload asking for `usage`, short of `contested`."""

    standing: Standing
    who: Contender
    usage: Usage
    contested: frozenset[FlavorResource]
    limits: Limits = Limits()
    has_room: Callable[[], bool] | None = (
        None  # can one cluster hold it, those removed being gone?
    )

    @property
    def node(self) -> Node:
        return self.standing.node(self.who.queue)

    @property
    def policy(self) -> QueuePolicy:
        return self.standing.policies[self.who.queue]

    def fits(self, *, borrowing: bool = True) -> bool:
        """Would it fit now? Without `borrowing` it must stay inside the queue's nominal quota."""
        tree, node = self.standing.tree, self.node
        for of, amount in self.usage.items():
            if not borrowing and tree.borrows(node, of, amount):
                return False
            if amount > tree.available(node, of):
                return False
        return self.has_room is None or self.has_room()

    def may_take(self, holder: Holder, policy: str) -> bool:
        """Does a policy (withinClusterQueue or reclaimWithinCohort) let it preempt this one?"""
        if policy == NEVER or (holder.priority >= self.who.priority and policy == "LowerPriority"):
            return False
        if not holder.uses(self.contested) or self._is_spared(holder):
            return False
        if policy == "Any" or holder.priority < self.who.priority:
            return True
        return (
            policy == "LowerOrNewerEqualPriority"
            and holder.priority == self.who.priority
            and self.who.queued_at < holder.queued_at
        )

    def _is_spared(self, holder: Holder) -> bool:
        if holder.queue in self.limits.protected:
            return True
        began = holder.started_at
        least = self.limits.minimum_runtime
        return bool(least) and began is not None and self.limits.now - began < least

    def order(self, holder: Holder) -> tuple[object, ...]:
        """Which candidate goes first: evicted, others' before own, then `Limits.order`."""
        own = holder.queue == self.who.queue
        keys = tuple(_ORDERS[name](holder) for name in self.limits.order)
        return (not holder.evicted, own, *keys, *holder.identity)

    def sorted(self, candidates: Iterable[Holder]) -> list[Holder]:
        """Candidates as they are tried. In a queue where history counts, those of the LocalQueue that
        used more go first; between queues it says nothing, so there such ones only change places.
        """
        listed = sorted(candidates, key=self.order)
        by_usage = {h.queue for h in listed if self.standing.policies[h.queue].by_usage}
        for queue in sorted(by_usage):
            places = [at for at, h in enumerate(listed) if h.queue == queue]
            ranked = sorted(
                (listed[at] for at in places),
                key=lambda h: (not h.evicted, -self.standing.rank(h), *self.order(h)),
            )
            for at, holder in zip(places, ranked, strict=True):
                listed[at] = holder
        return listed

    def own_candidates(self) -> list[Holder]:
        """Candidates of its own queue, under withinClusterQueue."""
        within = self.policy.within
        if within == NEVER:
            return []
        held = self.standing.holders(self.who.queue)
        return [h for h in held if self.may_take(h, within)]

    def within_budget(self, victims: Sequence[Victim]) -> bool:
        return self.limits.budget is None or len(victims) <= self.limits.budget


_ORDERS = {
    "LowestPriority": lambda h: h.priority,
    "MostRecent": lambda h: -h.reserved_at,
    "Smallest": lambda h: sum(h.usage.values()),
    "LeastWorkLost": lambda h: -(h.started_at or h.reserved_at),
}
ORDERS = tuple(_ORDERS)


class Trial:
    """Removals under trial: everything removed is back when the trial ends."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self.taken: list[Victim] = []

    def take(self, victim: Victim) -> None:
        self._standing.remove(victim.holder)
        self.taken.append(victim)

    def fill_back(self, contest: Contest, *, borrowing: bool) -> list[Victim]:
        """From the second-last taken to the first, give back each one that is not needed."""
        needed = [self.taken[-1]]
        for victim in reversed(self.taken[:-1]):
            self._standing.add(victim.holder)
            if contest.fits(borrowing=borrowing):
                continue
            self._standing.remove(victim.holder)
            needed.append(victim)
        self.taken = needed
        return list(reversed(needed))


@contextmanager
def trial(standing: Standing) -> Iterator[Trial]:
    """Try removals; whatever is still removed at the end comes back."""
    tried = Trial(standing)
    try:
        yield tried
    finally:
        for victim in tried.taken:
            standing.add(victim.holder)

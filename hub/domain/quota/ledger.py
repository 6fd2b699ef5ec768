"""Charges of each ClusterQueue, updated while queues and cohorts are created, changed and deleted.

The tree is grown anew when rules change, and charged again; what is charged to a queue that is gone
stays known, so that it counts again once the queue is back.
"""

from collections.abc import Iterable, Mapping

from hub.domain.quota.declared import ClusterQueue, FlavorResource, Usage
from hub.domain.quota.tree import UNLIMITED, Cohort, Node, QuotaTree
from shared import quantity


class Ledger:
    """Quota in one tree, and everything charged."""

    __slots__ = ("_cohorts", "_orphans", "_queues", "_tree")

    def __init__(
        self,
        queues: Iterable[ClusterQueue] = (),
        used: Mapping[str, Usage] | None = None,
        cohorts: Iterable[Cohort] = (),
    ) -> None:
        self._queues: dict[str, ClusterQueue] = {q.name: q for q in queues}
        self._cohorts: dict[str, Cohort] = {c.name: c for c in cohorts}
        self._orphans: dict[str, dict[FlavorResource, int]] = {}  # charged to queues not declared
        self._tree: QuotaTree | None = None
        for name, usage in (used or {}).items():
            self.charge(name, usage)

    @property
    def tree(self) -> QuotaTree:
        """The tree as declared and charged; another one after rules have changed."""
        if self._tree is None:
            self._tree = QuotaTree(self._queues.values(), self._cohorts.values())
            charged, self._orphans = self._orphans, {}
            for name, usage in charged.items():
                self.charge(name, usage)
        return self._tree

    def copy(self) -> "Ledger":
        """Another ledger to charge; this one stays as it is."""
        other = Ledger(self._queues.values(), None, self._cohorts.values())
        other._tree = self.tree.copy()
        other._orphans = {name: dict(usage) for name, usage in self._orphans.items()}
        return other

    def put(self, queue: ClusterQueue) -> None:
        """Add a queue, or change its limits; what is charged stays charged."""
        self._uproot()
        self._queues[queue.name] = queue

    def drop(self, name: str) -> None:
        """Forget a queue's limits; what is charged stays charged."""
        self._uproot()
        self._queues.pop(name, None)

    def put_cohorts(self, cohorts: Iterable[Cohort]) -> None:
        """Cohorts as they are now."""
        self._uproot()
        self._cohorts = {c.name: c for c in cohorts}

    def _uproot(self) -> None:
        tree, self._tree = self._tree, None
        for name in tree.queues if tree is not None else ():
            used = {of: amount for of, amount in tree.usage(name).items() if amount}  # type: ignore[union-attr]  # only iterated where there is one
            if used:
                self._orphans[name] = used

    def node(self, queue: str) -> Node | None:
        """A queue in its tree; None if it is not declared."""
        return self.tree.queues.get(queue)

    def usage(self, queue: str) -> dict[FlavorResource, int]:
        """Everything charged to a queue."""
        node = self.node(queue)
        used = self._orphans.get(queue, {}) if node is None else self.tree.usage(queue)
        return {of: amount for of, amount in used.items() if amount}

    def used(self, queue: str, of: FlavorResource) -> int:
        """The charges."""
        return self.usage(queue).get(of, 0)

    def available(self, queue: str, of: FlavorResource) -> int:
        """The remaining quota of the queue now; never negative."""
        node = self.node(queue)
        return 0 if node is None else self.tree.available(node, of)

    def take(self, queue: str, amounts: Usage, most: int = 1) -> int:
        """Charge `amounts` as often as it fits, at most `most` times; how often that was."""
        tree = self.tree
        node = tree.queues[queue]
        times = most
        for of, amount in amounts.items():
            if amount:
                free = tree.available(node, of)
                if free < UNLIMITED and free < amount * times:
                    times = max(0, free // amount)
        if times:
            tree.charge(queue, amounts if times == 1 else _times(amounts, times))
        return times

    def charge(self, queue: str, amounts: Usage, times: int = 1) -> None:
        """Add to what is charged."""
        amounts = amounts if times == 1 else _times(amounts, times)
        if self.node(queue) is not None:
            self.tree.charge(queue, amounts)
            return
        used = self._orphans.setdefault(queue, {})
        for of, amount in amounts.items():
            used[of] = quantity.add(used.get(of, 0), amount)

    def release(self, queue: str, amounts: Usage, times: int = 1) -> None:
        """Take back what was charged."""
        amounts = amounts if times == 1 else _times(amounts, times)
        if self.node(queue) is not None:
            self.tree.release(queue, amounts)
            return
        used = self._orphans.setdefault(queue, {})
        for of, amount in amounts.items():
            used[of] = quantity.sub(used.get(of, 0), amount)


def _times(amounts: Usage, times: int) -> Usage:
    return {of: amount * times for of, amount in amounts.items()}

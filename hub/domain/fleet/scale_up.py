"""Nodes that autoscaled pools may still add: room that is not there yet, beside the room that is.

Only needs with `Need.sites` are searched here, after the existing nodes, so a fleet whose pods fit pays
nothing for it. Pods are packed: an autoscaler adds as few nodes as will do. A promise that was
made of such nodes is taken from real ones as soon as those are reported: counted once, either way.
"""

import bisect
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, Protocol, Self

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster, GrowingPool, IntArray

MANY: Final = 1 << 31  # pods on one node, as good as unlimited
PODS: Final = "pods"


class SiteNeed(Protocol):
    """The request of one pod, and the sites that it may use."""

    @property
    def rows(self) -> tuple[int, ...]: ...
    @property
    def amounts(self) -> tuple[int, ...]: ...
    @property
    def sites(self) -> BoolArray | None: ...


class Sites:
    """The order of nodes that are not there yet, by cluster as in the layout; never changes."""

    def __init__(self, clusters: Sequence[Cluster], row: Mapping[str, int]) -> None:
        """`clusters` in the layout's order; `row` of each resource."""
        counts = [sum(p.nodes for p in c.growing) for c in clusters]
        self.bounds: list[int] = np.concatenate([[0], np.cumsum(counts)]).astype(int).tolist()
        self._occupied = np.flatnonzero(np.array(counts))
        self._starts = np.array(self.bounds, dtype=np.int64)[self._occupied]
        self._clusters = len(clusters)
        self.pools: list[tuple[GrowingPool, int, int]] = []
        self.shape: IntArray = np.zeros((len(row), self.bounds[-1]), dtype=np.int64)
        low = 0
        for cluster in clusters:
            for pool in cluster.growing:
                high = low + pool.nodes
                self.pools.append((pool, low, high))
                self.shape[row[PODS], low:high] = MANY
                for resource, amount in pool.shape.items():
                    self.shape[row[resource], low:high] = amount
                low = high

    def mask(self, admits: Callable[[GrowingPool], bool]) -> BoolArray:
        """The sites whose pool may hold such pods."""
        mask = np.zeros(self.bounds[-1], dtype=np.bool_)
        for pool, low, high in self.pools:
            mask[low:high] = admits(pool)
        return mask

    def sum_of(self, amounts: IntArray) -> IntArray:
        """Per cluster: the sum over its sites."""
        result = np.zeros(self._clusters, dtype=np.int64)
        if len(self._occupied):
            result[self._occupied] = np.add.reduceat(amounts, self._starts)
        return result

    def pool_at(self, site: int) -> GrowingPool:
        """The pool that would add this node."""
        return self.pools[bisect.bisect_right(self.pools, site, key=itemgetter(1)) - 1][0]


class Growth:
    """The remaining room of nodes that do not exist yet. `opened`: nodes that pods were put on, by pool."""

    __slots__ = ("free", "opened", "sites")

    def __init__(self, sites: Sites, free: IntArray) -> None:
        self.sites = sites
        self.free = free  # resources × sites
        self.opened: dict[str, int] = {}

    @classmethod
    def of(cls, sites: Sites) -> Self:
        """Nothing promised yet."""
        return cls(sites, sites.shape.copy())

    def copy(self) -> "Growth":
        """Another one to take from."""
        return Growth(self.sites, self.free.copy())

    def nodes_of(self, at: int) -> IntArray:
        """Resources × sites of cluster `at`: what is free."""
        return self.free[:, self.sites.bounds[at] : self.sites.bounds[at + 1]]

    def mark(self, at: int) -> tuple[IntArray, dict[str, int]]:
        """The state with which `go_back` undoes later charges of cluster `at`."""
        return self.nodes_of(at).copy(), dict(self.opened)

    def go_back(self, at: int, mark: tuple[IntArray, dict[str, int]]) -> None:
        """Undo what was taken since."""
        self.nodes_of(at)[:], self.opened = mark

    def reset(self, at: int) -> None:
        """Nothing of cluster `at` is promised."""
        low, high = self.sites.bounds[at], self.sites.bounds[at + 1]
        self.free[:, low:high] = self.sites.shape[:, low:high]

    def held(self, need: SiteNeed) -> IntArray:
        """Per cluster: how many such pods its sites can hold."""
        return self.sites.sum_of(self._slots(need, 0, self.sites.bounds[-1]))

    def count(self, need: SiteNeed, at: int) -> int:
        """The number of such pods that the sites of cluster `at` can hold."""
        return int(self._slots(need, self.sites.bounds[at], self.sites.bounds[at + 1]).sum())

    def take(self, need: SiteNeed, count: int, at: int) -> int:
        """Put up to `count` pods on sites of cluster `at`, filling one after the other; how many."""
        low, high = self.sites.bounds[at], self.sites.bounds[at + 1]
        slots = self._slots(need, low, high)
        before = np.cumsum(slots) - slots
        taken = np.clip(count - before, 0, slots)
        for row, amount in zip(need.rows, need.amounts, strict=True):
            self.free[row, low:high] -= taken * amount
        for site in np.flatnonzero(taken).tolist():
            name = self.sites.pool_at(low + site).name
            self.opened[name] = self.opened.get(name, 0) + 1
        return int(taken.sum())

    def give_back(self, need: SiteNeed, count: int, at: int) -> int:
        """What if `count` promised pods were gone? At most as many as are promised; how many."""
        low, high = self.sites.bounds[at], self.sites.bounds[at + 1]
        used = self.sites.shape[:, low:high] - self.free[:, low:high]
        slots = np.full(high - low, count, dtype=np.int64)
        for row, amount in zip(need.rows, need.amounts, strict=True):
            np.minimum(slots, used[row] // amount, out=slots)
        if need.sites is not None:
            slots[~need.sites[low:high]] = 0
        np.maximum(slots, 0, out=slots)
        gone = np.clip(count - (np.cumsum(slots) - slots), 0, slots)
        for row, amount in zip(need.rows, need.amounts, strict=True):
            self.free[row, low:high] += gone * amount
        return int(gone.sum())

    def _slots(self, need: SiteNeed, low: int, high: int) -> IntArray:
        """Pods that each site can hold; never negative."""
        slots = np.full(high - low, MANY, dtype=np.int64)
        for row, amount in zip(need.rows, need.amounts, strict=True):
            np.minimum(slots, self.free[row, low:high] // amount, out=slots)
        np.maximum(slots, 0, out=slots)
        if need.sites is not None:
            slots[~need.sites[low:high]] = 0
        return slots

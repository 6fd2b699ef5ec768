"""Free room of the whole fleet as arrays: one column per node, one row per resource, exact int64.

`Layout` is the immutable order of clusters, pools and nodes; `Room` the amounts, from which a cycle
takes as it places. Pods are put on nodes one by one, the roomiest node first, as a member's own
scheduler does by default: so what is left shows the fragmentation that unreported pods will cause.
Nodes that pools may still add lie beside (`hub.domain.fleet.scale_up`): only needs that may use them
look there.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Self

import numpy as np

from hub.domain.fleet.clusters import BoolArray, Cluster, FloatArray, IntArray
from hub.domain.fleet.node_layout import MANY, PODS, Layout, Need, NodeAsk
from hub.domain.fleet.scale_up import Growth

__all__ = ["PODS", "Layout", "Need", "NodeAsk", "Room"]

_BOUND: Final = 1 << 62


class Room:
    """The remaining room of every node and cluster; `take` reduces it."""

    __slots__ = ("_free", "_left", "_stamps", "free", "growth", "layout", "left", "touched")
    _stamp = itertools.count(1)

    def __init__(
        self, layout: Layout, free: IntArray, left: IntArray, growth: Growth | None = None
    ) -> None:
        self.layout = layout
        self.growth = (
            growth  # what nodes that are not there yet would hold; None: no pool may grow
        )
        self.free = free  # resources × nodes
        self.left = left  # resources × clusters: what is free less everything promised
        self._free = free.data  # the same numbers: single ones are read and set faster
        self._left = left.data
        self.touched: list[int] = []  # clusters taken from, in order, with repetition
        self._stamps: dict[int, int] = {}  # by cluster: of its last change, unique among all rooms

    @classmethod
    def of(cls, layout: Layout, clusters: Mapping[str, Cluster]) -> Self:
        """The room that the clusters' reports show, promises not counted."""
        rows, columns = len(layout.resources), len(layout.names)
        free = np.zeros((rows, layout.nodes), dtype=np.int64)
        growth = None if layout.sites is None else Growth.of(layout.sites)
        room = cls(layout, free, np.zeros((rows, columns), dtype=np.int64), growth)
        for name in layout.names:
            room.reset(clusters[name])
        return room

    def copy(self) -> "Room":
        """Another room to take from; this one stays as it is."""
        growth = None if self.growth is None else self.growth.copy()
        return Room(self.layout, self.free.copy(), self.left.copy(), growth)

    def reset(self, cluster: Cluster) -> None:
        """Set one cluster back to what its report shows."""
        layout = self.layout
        at = layout.position[cluster.name]
        node = layout.bounds[at]
        pods = layout.row[PODS]
        self._stamps[at] = next(self._stamp)
        for pool in cluster.pools:
            end = node + len(pool.nodes)
            self.free[:, node:end] = 0
            if PODS not in pool.resources:
                self.free[pods, node:end] = MANY
            for column, resource in enumerate(pool.resources):
                self.free[layout.row[resource], node:end] = pool.free[:, column]
            node = end
        if self.growth is not None:
            self.growth.reset(at)
        self.left[:, at] = 0
        for resource, amount in cluster.free.items():
            self.left[layout.row[resource], at] = max(-_BOUND, min(_BOUND, amount))

    def open_clusters(self, need: Need, count: int) -> BoolArray:
        """Per cluster: can its nodes hold `count` such pods?"""
        if need.missing:
            return np.zeros(len(self.layout.names), dtype=np.bool_)
        if count == 1 and need.sites is None:
            holding = self.free[need.rows[0]] >= need.amounts[0]
            for row, amount in zip(need.rows[1:], need.amounts[1:], strict=True):
                holding &= self.free[row] >= amount
            if need.nodes is not None:
                holding &= need.nodes
            return self.layout.any_node(holding)
        return np.asarray(self.pods_held(need) >= count)

    def pods_held(self, need: Need) -> IntArray:
        """Per cluster: how many such pods its nodes can hold."""
        if need.missing:
            return np.zeros(len(self.layout.names), dtype=np.int64)
        held = self.layout.sum_nodes(self._slots(need, 0, self.layout.nodes))
        return held if need.sites is None or self.growth is None else held + self.growth.held(need)

    def count_held(self, need: Need, at: int) -> int:
        """The number of such pods that the nodes of cluster `at` can hold."""
        if need.missing:
            return 0
        held = self._count_there(need, at)
        return (
            held
            if need.sites is None or self.growth is None
            else held + self.growth.count(need, at)
        )

    def _count_there(self, need: Need, at: int) -> int:
        return int(self._slots(need, self.layout.bounds[at], self.layout.bounds[at + 1]).sum())

    def fits(self, need: Need, count: int, at: int) -> bool:
        """Can cluster `at` hold `count` such pods?"""
        return self.count_held(need, at) >= count

    def lack(self, need: Need, low: int, high: int) -> FloatArray:
        """Per node low … high-1: what one pod lacks there, as shares of what it asks for, summed.

        Infinite where the node is not for such pods.
        """
        lack = np.zeros(high - low, dtype=np.float64)
        for row, amount in zip(need.rows, need.amounts, strict=True):
            lack += np.maximum(0, amount - self.free[row, low:high]) / amount
        if need.missing:
            lack[:] = np.inf
        elif need.nodes is not None:
            lack[~need.nodes[low:high]] = np.inf
        return lack

    def least_lack(self, need: Need) -> FloatArray:
        """Per cluster: the least of `lack` over its nodes; infinite without nodes."""
        return self.layout.least_of_nodes(self.lack(need, 0, self.layout.nodes))

    def take(self, need: Need, count: int, at: int) -> bool:
        """Put `count` pods on nodes of cluster `at`, all of them or none: False if they do not fit."""
        if need.missing:
            return False
        if need.sites is not None and self.growth is not None:
            return self._take_growing(need, count, at)
        bounds = self.layout.bounds
        low = bounds[at]
        if bounds[at + 1] - low == 1:
            return self._take_one_node(need, count, at, low)
        return self._take_there(need, count, at)

    def _take_growing(self, need: Need, count: int, at: int) -> bool:
        """The nodes there are come first."""
        assert self.growth is not None
        there = min(count, self._count_there(need, at))
        if count - there > self.growth.count(need, at):
            return False
        if there:
            self._take_there(need, there, at)
        if count > there:
            self.growth.take(need, count - there, at)
            self._charge(need, count - there, at)
        return True

    def _take_there(self, need: Need, count: int, at: int) -> bool:
        low, high = self.layout.bounds[at], self.layout.bounds[at + 1]
        if high - low == 1:
            return self._take_one_node(need, count, at, low)
        if high == low:
            return False
        stamp, slots = need.held.get(at, (0, None))
        if slots is None or stamp != self._stamps.get(at):
            slots = self._slots(need, low, high)
        if count == 1:
            node = int(slots.argmax())
            if slots.item(node) < 1:
                return False
            slots[node] -= 1  # exactly: the pods are equal
            node += low
            for row, amount in zip(need.rows, need.amounts, strict=True):
                self.free[row, node] -= amount
        else:
            if int(slots.sum()) < count:
                return False
            taken = _spread(slots, count)
            slots -= taken
            for row, amount in zip(need.rows, need.amounts, strict=True):
                self.free[row, low:high] -= taken * amount
        self._charge(need, count, at)
        need.held[at] = (self._stamps[at], slots)
        return True

    def take_singles(self, need: Need, places: Sequence[int]) -> None:
        """Put one pod in each of these clusters, some of them several times; each has the room."""
        if not places:
            return
        ats = np.array(places)
        one_node = self.layout.sizes[ats] == 1
        lone = ats if one_node.all() else ats[one_node]
        nodes = self.layout.starts[lone]
        for row, amount in need.pairs:
            np.subtract.at(self.free[row], nodes, amount)
            np.subtract.at(self.left[row], lone, amount)
        self.touched.extend(lone.tolist())
        if lone is not ats:
            for at, number in Counter(ats[~one_node].tolist()).items():
                self._take_there(need, number, at)

    def take_all(self, needs: Sequence[tuple[Need, int]], at: int) -> bool:
        """Put pods of several kinds in cluster `at`, in order: all of them or none."""
        low, high = self.layout.bounds[at], self.layout.bounds[at + 1]
        free, left = self.free[:, low:high].copy(), self.left[:, at].copy()
        growth = None if self.growth is None else self.growth.mark(at)
        touched = len(self.touched)
        for need, count in needs:
            if not self.take(need, count, at):
                self.free[:, low:high] = free
                self.left[:, at] = left
                if self.growth is not None and growth is not None:
                    self.growth.go_back(at, growth)
                self._stamps[at] = next(self._stamp)
                del self.touched[touched:]
                return False
        return True

    def promise(self, need: Need, count: int, at: int) -> int:
        """Count pods that are on their way to cluster `at`; returns how many found a node.

        The rest lowers what is left in the cluster all the same: it has been promised.
        """
        placed = min(count, self.count_held(need, at))
        if placed:
            self.take(need, placed, at)
        if count > placed:
            self._charge(need, count - placed, at)
        return placed

    @contextmanager
    def trial(self, at: int) -> Iterator[None]:
        """What if? Changes of cluster `at` inside the block are undone at its end."""
        low, high = self.layout.bounds[at], self.layout.bounds[at + 1]
        free, left = self.free[:, low:high].copy(), self.left[:, at].copy()
        growth = None if self.growth is None else self.growth.mark(at)
        touched, stamp = len(self.touched), self._stamps.get(at, 0)
        try:
            yield
        finally:
            self.free[:, low:high], self.left[:, at] = free, left
            if self.growth is not None and growth is not None:
                self.growth.go_back(at, growth)
            del self.touched[touched:]
            self._stamps[at] = stamp

    def set_back(self, at: int, other: "Room") -> None:
        """Make cluster `at` what it is in `other`, a room over the same layout."""
        low, high = self.layout.bounds[at], self.layout.bounds[at + 1]
        self.free[:, low:high] = other.free[:, low:high]
        self.left[:, at] = other.left[:, at]
        if self.growth is not None and other.growth is not None:
            self.growth.nodes_of(at)[:] = other.growth.nodes_of(at)
        self._stamps[at] = next(self._stamp)

    def has_all_of(self, other: "Room", at: int) -> bool:
        """Has each node of cluster `at` at least as much as in `other`? False where nodes lie otherwise."""
        if self.layout is not other.layout:
            return False
        return bool(
            (self.nodes_of(at) >= other.nodes_of(at)).all()
            and (self.left[:, at] >= other.left[:, at]).all()
        )

    def nodes_of(self, at: int) -> IntArray:
        """Resources × nodes of cluster `at`: what is free, on nodes there are and on those to come."""
        there = self.free[:, self.layout.bounds[at] : self.layout.bounds[at + 1]]
        return there if self.growth is None else np.hstack([there, self.growth.nodes_of(at)])

    def keep(self, amounts: IntArray, at: int) -> None:
        """Keep amounts (as of `nodes_of`) of cluster `at`, also where they are not free yet."""
        low, high = self.layout.bounds[at], self.layout.bounds[at + 1]
        self.free[:, low:high] -= amounts[:, : high - low]
        if self.growth is not None:
            self.growth.nodes_of(at)[:] -= amounts[:, high - low :]
        self.left[:, at] -= amounts.sum(axis=1)
        self._stamps[at] = next(self._stamp)
        self.touched.append(at)

    def give_back(self, need: Need, count: int, at: int) -> None:
        """What if `count` pods left cluster `at`, from nodes unknown? The fullest that may hold them."""
        low, high = self.layout.bounds[at], self.layout.bounds[at + 1]
        used = self.layout.allocatable(at) - self.free[:, low:high]
        slots = np.full(high - low, count, dtype=np.int64)
        fullness = np.zeros(high - low, dtype=np.float64)
        for row, amount in zip(need.rows, need.amounts, strict=True):
            np.minimum(slots, used[row] // amount, out=slots)
            fullness -= self.free[row, low:high] / amount
        if need.nodes is not None:
            slots[~need.nodes[low:high]] = 0
        np.maximum(slots, 0, out=slots)
        rest = count
        if need.sites is not None and self.growth is not None:
            rest -= self.growth.give_back(need, count, at)
        for node in np.argsort(-fullness, kind="stable").tolist():
            gone = min(rest, int(slots[node]))
            if not gone:
                continue
            for row, amount in zip(need.rows, need.amounts, strict=True):
                self.free[row, low + node] += amount * gone
            rest -= gone
        for row, amount in zip(need.rows, need.amounts, strict=True):
            self.left[row, at] += amount * count
        self._stamps[at] = next(self._stamp)

    def unpromise(self, need: Need, count: int, at: int) -> None:
        """What if `count` pods never came that cluster `at` was promised?

        `take` had put each pod on the node with most slots left: it is released there.
        """
        low, high = self.layout.bounds[at], self.layout.bounds[at + 1]
        used = self.layout.allocatable(at) - self.free[:, low:high]
        taken = np.full(high - low, count, dtype=np.int64)
        for row, amount in need.pairs:
            np.minimum(taken, used[row] // amount, out=taken)
        slots = self._slots(need, low, high)
        if need.nodes is not None:
            taken[~need.nodes[low:high]] = 0
        for _ in range(count if high > low else 0):
            node = int(np.where(taken > 0, slots, -1).argmax())
            if taken[node] < 1:
                break
            taken[node] -= 1
            slots[node] += 1
            for row, amount in need.pairs:
                self.free[row, low + node] += amount
        for row, amount in need.pairs:
            self.left[row, at] += amount * count
        self._stamps[at] = next(self._stamp)

    def give_back_on(self, need: Need, places: Sequence[tuple[int, int]], at: int) -> None:
        """What if pods left cluster `at`? `places`: numbers of its nodes, each with how many leave there."""
        low, high = self.layout.bounds[at], self.layout.bounds[at + 1]
        for node, count in places:
            if not 0 <= node < high - low:
                continue  # it has no such node; the next is another cluster's
            for row, amount in need.pairs:
                self.free[row, low + node] += amount * count
                self.left[row, at] += amount * count
        self._stamps[at] = next(self._stamp)

    def _take_one_node(self, need: Need, count: int, at: int, node: int) -> bool:
        if need.nodes is not None and not need.nodes[node]:
            return False
        free, left = self._free, self._left
        asked = need.pairs if count == 1 else [(row, a * count) for row, a in need.pairs]
        for row, amount in asked:
            if free[row, node] < amount:
                return False
        for row, amount in asked:
            free[row, node] -= amount
            left[row, at] -= amount
        self.touched.append(at)
        return True

    def _charge(self, need: Need, count: int, at: int) -> None:
        for row, amount in zip(need.rows, need.amounts, strict=True):
            self.left[row, at] -= min(_BOUND, amount * count)
        self._stamps[at] = next(self._stamp)
        self.touched.append(at)

    def _slots(self, need: Need, low: int, high: int) -> IntArray:
        """Pods that each of the nodes low … high-1 can hold; never negative, at most `MANY`."""
        slots = np.full(high - low, MANY, dtype=np.int64)
        for row, amount in zip(need.rows, need.amounts, strict=True):
            np.minimum(slots, self.free[row, low:high] // amount, out=slots)
        np.maximum(slots, 0, out=slots)
        if need.nodes is not None:
            slots[~need.nodes[low:high]] = 0
        return slots


def _spread(slots: IntArray, count: int) -> IntArray:
    """The number of `count` pods for each node if each pod goes to the node with most slots left."""
    low, high = (
        0,
        int(slots.max()),
    )  # the level down to which slots are used: the highest that serves
    while low < high:
        level = (low + high + 1) // 2
        if int(np.maximum(slots - level, 0).sum()) >= count:
            low = level
        else:
            high = level - 1
    taken = np.maximum(slots - low, 0)
    surplus = int(taken.sum()) - count
    if surplus:
        taken[np.flatnonzero(taken)[-surplus:]] -= 1
    return np.asarray(taken)

"""The order of clusters, pools and nodes, and what a pod needs in its terms: the frame of `Room`.

A layout stays the same while only amounts change. Clusters stand in descending order of name: the
first of equals is the larger name, as in KubeFleet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hub.domain import selectors
from hub.domain.devices import is_device
from hub.domain.fleet.clusters import BoolArray, Cluster, FloatArray, GrowingPool, IntArray, Pool
from hub.domain.fleet.scale_up import MANY, PODS, Sites
from hub.domain.selectors import Taint
from shared.resources import NodeTerm, Toleration

__all__ = ["MANY", "PODS", "Layout", "Need", "NodeAsk"]


class NodeAsk(NamedTuple):
    """The nodes that pods may use: by their selectors, their tolerations and their flavors."""

    labels: tuple[tuple[str, str], ...] = ()
    terms: tuple[tuple[NodeTerm, ...], ...] = ()  # each must match: ANDed lists of ORed terms
    tolerations: tuple[Toleration, ...] = ()
    revision: int = 0  # node label keys are known to reports of this revision or later
    growing: bool = False  # also nodes that pools may still add

    def admits(self, pool: Pool | GrowingPool) -> bool:
        """May such pods run on nodes of this pool?"""
        return (
            all(pool.labels.get(k) == v for k, v in self.labels)
            and all(selectors.node_matches(t, pool.labels) for t in self.terms)
            and self.stopped_by(pool) is None
        )

    def stopped_by(self, pool: Pool | GrowingPool) -> Taint | None:
        """The taint of the pool that such pods do not tolerate."""
        return selectors.untolerated(pool.taints, self.tolerations) if pool.taints else None


@dataclass(frozen=True, slots=True, eq=False)
class Need:
    """The request of one pod, in the layout's terms. `nodes` None: every node will do."""

    rows: tuple[int, ...]
    amounts: tuple[int, ...]
    nodes: BoolArray | None = None
    missing: tuple[str, ...] = ()  # requested resources that no node reports
    # By cluster: pods that each of its nodes could hold, as of a stamp of the room (see `Room.take`).
    held: dict[int, tuple[int, IntArray]] = field(default_factory=dict)
    sites: BoolArray | None = None  # which nodes that are not there yet will do too; None: none
    pairs: tuple[tuple[int, int], ...] = field(init=False)  # rows with their amounts

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple(zip(self.rows, self.amounts, strict=True)))


class Layout:
    """The order of clusters, pools and nodes; stays the same while only amounts change."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        ordered = sorted(clusters, key=lambda c: c.name, reverse=True)
        self.names: tuple[str, ...] = tuple(c.name for c in ordered)
        self.position: dict[str, int] = {name: i for i, name in enumerate(self.names)}
        self.revisions: tuple[int, ...] = tuple(c.pools_revision for c in ordered)
        self.pools: tuple[tuple[Pool, ...], ...] = tuple(c.pools for c in ordered)
        sizes = [sum(len(p.nodes) for p in c.pools) for c in ordered]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.bounds: list[int] = self.starts.tolist()
        self.sizes: IntArray = np.diff(self.starts)  # how many nodes each cluster has
        names = {r for c in ordered for p in c.pools for r in p.resources}
        names.update(r for c in ordered for p in c.growing for r in p.shape)
        names.update(r for c in ordered for r in c.free)  # of one whose nodes are not told
        self.resources: tuple[str, ...] = tuple(sorted(names | {PODS}))
        self.row: dict[str, int] = {r: i for i, r in enumerate(self.resources)}
        self._occupied = np.flatnonzero(self.sizes)
        self._occupied_starts = self.starts[self._occupied]
        self._masks: dict[NodeAsk, BoolArray | None] = {}
        self.growing: tuple[tuple[GrowingPool, ...], ...] = tuple(c.growing for c in ordered)
        self.sites = Sites(ordered, self.row) if any(self.growing) else None
        self._site_masks: dict[NodeAsk, BoolArray] = {}
        self._allocatable: dict[int, IntArray] = {}
        self._all_devices: BoolArray | None = None
        self._full: IntArray | None = None
        self._numbers: dict[int, dict[str, int]] = {}

    @property
    def nodes(self) -> int:
        return self.bounds[-1]

    def alike(self, cluster: Cluster) -> bool:
        """Does the cluster, as now reported, still fit this order?"""
        at = self.position.get(cluster.name)
        if at is None or self.revisions[at] != cluster.pools_revision:
            return False
        if self.growing[at] != cluster.growing:
            return False
        mine = self.pools[at]
        return len(mine) == len(cluster.pools) and all(
            a.alike(b) for a, b in zip(mine, cluster.pools, strict=True)
        )

    def need(self, requests: Mapping[str, int], ask: NodeAsk) -> Need:
        """One pod's requests, and the one pod it is, for nodes that `ask` admits."""
        asked = {name: amount for name, amount in requests.items() if amount > 0}
        asked[PODS] = max(1, asked.get(PODS, 0))
        known = [(self.row[n], a) for n, a in sorted(asked.items()) if n in self.row]
        return Need(
            rows=tuple(row for row, _ in known),
            amounts=tuple(amount for _, amount in known),
            nodes=self._mask(ask),
            missing=tuple(sorted(n for n in asked if n not in self.row)),
            sites=self._site_mask(ask) if ask.growing and self.sites is not None else None,
        )

    def numbers(self, at: int) -> Mapping[str, int]:
        """The nodes of cluster `at` by name, each with its place among them."""
        if at not in self._numbers:
            names = (name for pool in self.pools[at] for name in pool.nodes)
            self._numbers[at] = {name: number for number, name in enumerate(names)}
        return self._numbers[at]

    def only(
        self, need: Need, at: int, names: Iterable[str], *, coming: bool = False
    ) -> Need | None:
        """The same need on these nodes of cluster `at` alone; None where none of them will do.

        `coming`: beside these also on nodes that are still to come, where it may use any: they have no names.
        """
        low, numbers = self.bounds[at], self.numbers(at)
        there = [low + numbers[name] for name in names if name in numbers]
        mask = np.zeros(self.nodes, dtype=np.bool_)
        mask[there] = True
        if need.nodes is not None:
            mask &= need.nodes
        sites = need.sites if coming and there else None
        return (
            replace(need, nodes=mask, sites=sites, held={})
            if mask.any() or sites is not None
            else None
        )

    def _site_mask(self, ask: NodeAsk) -> BoolArray:
        if ask not in self._site_masks:
            assert self.sites is not None
            self._site_masks[ask] = self.sites.mask(ask.admits)
        return self._site_masks[ask]

    def _mask(self, ask: NodeAsk) -> BoolArray | None:
        if ask not in self._masks:
            mask = np.zeros(self.nodes, dtype=np.bool_)
            for at, pools in enumerate(self.pools):
                node = self.bounds[at]
                current = self.revisions[at] >= ask.revision
                for pool in pools:
                    mask[node : node + len(pool.nodes)] = current and ask.admits(pool)
                    node += len(pool.nodes)
            self._masks[ask] = None if mask.all() else mask
        return self._masks[ask]

    def allocatable(self, at: int) -> IntArray:
        """Resources × nodes of cluster `at`: what its nodes can hold when empty."""
        if at not in self._allocatable:
            size = self.bounds[at + 1] - self.bounds[at]
            full = np.zeros((len(self.resources), size), dtype=np.int64)
            node = 0
            for pool in self.pools[at]:
                end = node + len(pool.nodes)
                if PODS not in pool.resources:
                    full[self.row[PODS], node:end] = 2 * MANY
                for column, resource in enumerate(pool.resources):
                    full[self.row[resource], node:end] = pool.allocatable[:, column]
                node = end
            self._allocatable[at] = full
        return self._allocatable[at]

    @property
    def full(self) -> IntArray:
        """Resources × nodes of all clusters: what nodes can hold when empty."""
        if self._full is None:
            every = [self.allocatable(at) for at in range(len(self.names))]
            self._full = (
                np.hstack(every) if every else np.zeros((len(self.resources), 0), np.int64)
            )
        return self._full

    @property
    def all_devices(self) -> BoolArray:
        """Per cluster: has it nodes, and each of them a device?"""
        if self._all_devices is None:
            found = [_all_have_devices(pools) for pools in self.pools]
            self._all_devices = np.array(found, dtype=np.bool_)
        return self._all_devices

    def large_enough(self, need: Need) -> BoolArray:
        """Per cluster: would any of its nodes hold one such pod if it were empty?"""
        if need.missing:
            return np.zeros(len(self.names), dtype=np.bool_)
        holding = np.ones(self.nodes, dtype=np.bool_) if need.nodes is None else need.nodes.copy()
        for row, amount in zip(need.rows, need.amounts, strict=True):
            holding &= self.full[row] >= amount
        return self.any_node(holding)

    def any_node(self, holding: BoolArray) -> BoolArray:
        """Per cluster: does any of its nodes hold? `holding` is per node."""
        result = np.zeros(len(self.names), dtype=np.bool_)
        if len(self._occupied):
            result[self._occupied] = np.logical_or.reduceat(holding, self._occupied_starts)
        return result

    def sum_nodes(self, amounts: IntArray) -> IntArray:
        """Per cluster: the sum over its nodes. `amounts` is per node."""
        result = np.zeros(len(self.names), dtype=np.int64)
        if len(self._occupied):
            result[self._occupied] = np.add.reduceat(amounts, self._occupied_starts)
        return result

    def least_of_nodes(self, amounts: FloatArray) -> FloatArray:
        """Per cluster: the least over its nodes, infinite without nodes. `amounts` is per node."""
        result = np.full(len(self.names), np.inf)
        if len(self._occupied):
            result[self._occupied] = np.minimum.reduceat(amounts, self._occupied_starts)
        return result


def same_pods(some: Sequence[tuple[Need, int]], others: Sequence[tuple[Need, int]]) -> bool:
    """As many pods, which ask for the same on the same nodes, whichever reports they rely on?"""
    return len(some) == len(others) and all(
        count == other_count and _same(need, other)
        for (need, count), (other, other_count) in zip(some, others, strict=True)
    )


def _same(one: Need, other: Need) -> bool:
    if (one.pairs, one.missing) != (other.pairs, other.missing):
        return False
    if one.nodes is None or other.nodes is None:
        return one.nodes is other.nodes
    return bool((one.nodes == other.nodes).all())


def _all_have_devices(pools: Sequence[Pool]) -> bool:
    with_nodes = [pool for pool in pools if pool.nodes]
    for pool in with_nodes:
        columns = [at for at, resource in enumerate(pool.resources) if is_device(resource)]
        if not columns or not (pool.allocatable[:, columns] > 0).any(axis=1).all():
            return False
    return bool(with_nodes)

"""Another cluster for a reservation whose checks have added to what its pods ask of nodes.

A tentative cluster was chosen before the checks answered. Their additions (a node selector, tolerations)
may leave it without a node for the pods, while another member has some. Pure, over a copy of the room.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Need, NodeAsk, Room
from hub.domain.fleet.promises import Promise
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.framework import Filter, first_rejection
from hub.domain.workloads.demand import Demand

Asks = tuple[NodeAsk, ...]


@dataclass(slots=True, eq=False)
class Rehoming:
    """Choices on one picture of the fleet; each takes its room, so that the next sees it taken."""

    clusters: Mapping[str, Cluster]
    room: Room
    filters: Sequence[Filter]
    now: dt.datetime

    def home(self, promise: Promise, demand: Demand, asks: Asks) -> str:
        """The cluster that takes the pods as they ask now; "" where it is to wait.

        The tentative one where it can. If no eligible member has such a node, nodes may be on their way,
        as with Kueue: it stays. It waits while reports do not distinguish nodes by all
        requested labels, and while the members with such nodes are full.
        """
        at = self.room.layout.position[promise.cluster]
        needs = self._needs(promise, promise.asks)
        for need, count in needs:
            self.room.give_back(need, count, at)
        if self.room.take_all(self._needs(promise, asks), at):
            return promise.cluster
        may = [
            cluster
            for cluster in self.clusters.values()
            if first_rejection(self.filters, demand.constraints, cluster, self.now) is None
        ]
        newest = max(ask.revision for ask in asks)
        told = all(cluster.pools_revision >= newest for cluster in may)
        if told:
            search = ClusterSearch(self.clusters, self.room, self.filters, self.now)
            choice = search.picker(demand, asks).place(promise.uid)
            if choice is not None:
                return choice.cluster
        for need, count in needs:
            self.room.promise(need, count, at)
        return "" if not told or _exists(asks, may) else promise.cluster

    def _needs(self, promise: Promise, asks: Asks) -> list[tuple[Need, int]]:
        return [
            (self.room.layout.need(requests, ask), count)
            for (requests, _, count), ask in zip(promise.pod_sets, asks, strict=True)
        ]


def _exists(asks: Asks, clusters: Sequence[Cluster]) -> bool:
    """Has any of these clusters, or may it add, a node that such pods may use?"""
    return any(
        any(map(ask.admits, each.pools)) or any(map(ask.admits, each.growing))
        for each in clusters
        for ask in asks
    )

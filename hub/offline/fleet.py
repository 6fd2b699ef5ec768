"""Member clusters of a scene, and the room on them while rounds are played.

A MemberCluster's node pools stand in `status.pools` or `spec.pools` in the shape of a members file
(`[{name, count, labels, taints, allocatable}]`); one without pools has unlimited room.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hub.domain import selectors
from hub.domain.admission import assign_with_scale_up
from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.capacity_view import sized
from hub.domain.fleet.clusters import MOST_NEW_NODES, Cluster, GrowingPool, Pool, pool as node_pool
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.instants import from_micros
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.registry import FILTERS
from hub.domain.plan import Assignment, Reason
from hub.domain.quota.declared import Flavor
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.workloads.demand import Demand, explanation_key, read_constraints
from hub.domain.workloads.shape import shape_hash
from hub.offline.documents import Document
from shared import quantity
from shared.errors import Rejected
from shared.resources import PodSet

_PLENTY: Final = 1 << 60
_USUAL: Final = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "amd.com/gpu")


def read_cluster(document: Document, flavors: Iterable[Flavor], now: int) -> Cluster:
    """A member as declared, online, with all of its nodes free. Raises `Unreadable`."""
    declared = next(
        (
            (path, listed)
            for path in (("status", "pools"), ("spec", "pools"), ("spec", "nodePools"))
            if (listed := document.objects(*path))
        ),
        None,
    )
    growing: tuple[GrowingPool, ...] = ()
    if declared is None:
        pools = _unlimited(flavors)
    else:
        path, given = declared
        field = ".".join(path)
        named = [(pool, f"{field}[{i}]") for i, pool in enumerate(given)]
        pools = tuple(_pool(document, pool, place) for pool, place in named)
        may_grow = (_growing(document, pool, place) for pool, place in named)
        growing = tuple(pool for pool in may_grow if pool is not None)
    totals: dict[str, int] = {}
    for pool in pools:
        for resource, column in zip(pool.resources, pool.allocatable.T.tolist(), strict=True):
            totals[resource] = quantity.clamp(totals.get(resource, 0) + sum(column))
    return Cluster(
        name=document.name,
        labels=dict(document.parsed.labels),
        taints=selectors.read_taints(document.parsed.spec.get("taints")),
        heartbeat_at=from_micros(now),
        pools=pools,
        properties={
            name: str(p.get("value"))
            for name, p in document.mapping("status", "properties").items()
            if isinstance(p, dict)
        },
        allocatable=totals,
        free=dict(totals),
        node_count=sum(len(p.nodes) for p in pools),
        growing=growing,
    )


def _pool(document: Document, given: Mapping[str, Any], field: str) -> Pool:
    allocatable = _allocatable(document, given, field)
    count = _count(document, given, f"{field}.count", 1)
    name = str(given.get("name") or "pool")
    amounts = [min(a, _PLENTY) for a in allocatable.values()]
    return node_pool(
        given.get("labels") or {},
        tuple(allocatable),
        {f"{name}-{i}": (amounts, amounts) for i in range(count)},
        selectors.read_taints(given.get("taints")),
    )


def _growing(document: Document, given: Mapping[str, Any], field: str) -> GrowingPool | None:
    """What an autoscaled pool (`maxNodes`) may add to the nodes it has; None where it may not."""
    most = _count(document, given, f"{field}.maxNodes", 0)
    more = min(most - _count(document, given, f"{field}.count", 1), MOST_NEW_NODES)
    if more <= 0:
        return None
    amounts = _allocatable(document, given, field)
    return GrowingPool(
        name=str(given.get("name") or "pool"),
        labels=given.get("labels") or {},
        taints=selectors.read_taints(given.get("taints")),
        shape={resource: min(amount, _PLENTY) for resource, amount in amounts.items()},
        nodes=more,
    )


def _allocatable(document: Document, given: Mapping[str, Any], field: str) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for resource, text in (given.get("allocatable") or {}).items():
        try:
            amounts[str(resource)] = quantity.parse(resource, text)
        except Rejected as refusal:
            place = f"{field}.allocatable.{resource}"
            raise document.fault(place, f"{refusal.code}: {refusal.detail}") from None
    return amounts


def _count(document: Document, given: Mapping[str, Any], field: str, default: int) -> int:
    count = given.get(field.rpartition(".")[2], default)
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= 100_000:
        raise document.fault(field, "must be a whole number up to 100000")
    return count


def _unlimited(flavors: Iterable[Flavor]) -> tuple[Pool, ...]:
    """One node of everything for each flavor's labels."""
    kinds = {f.labels for f in flavors} | {()}
    amounts = [_PLENTY] * len(_USUAL)
    return tuple(
        node_pool(dict(labels), _USUAL, {f"node-{i}": (amounts, amounts)})
        for i, labels in enumerate(sorted(kinds))
    )


class DeclaredFleet:
    """Room on the members of a scene, less what its holders take; a `nomination.Fleet`."""

    def __init__(
        self,
        clusters: Mapping[str, Cluster],
        catalog: FlavorCatalog,
        holders: Sequence[AdmittedWorkload],
        pod_sets: Mapping[str, Sequence[PodSet]],
        now: int,
    ) -> None:
        self._clusters = clusters
        self._catalog = catalog
        self._now = from_micros(now)
        self._layout = Layout(list(clusters.values()))
        self._room = Room.of(self._layout, clusters)
        # uid → what it was put on: (pods, requests, nodes) of each pod set, and where
        self._put: dict[str, tuple[str, list[tuple[PodSet, NodeAsk]]]] = {}
        for holder in sorted(holders, key=lambda h: (not h.cluster, h.reserved_at, h.identity)):
            self._settle(holder, pod_sets.get(holder.uid, ()))

    @property
    def grows(self) -> bool:
        """May any pool still add a node?"""
        return self._room.growth is not None

    def can_hold(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        asks: tuple[NodeAsk, ...],
        gone: Sequence[AdmittedWorkload] = (),
    ) -> bool:
        """Can some cluster hold all pods, once `gone` are?"""
        demand = self._demand(who, pod_sets)
        search = self._search(gone, copied=True)
        return (
            search.can_hold(demand, asks)
            and search.picker(demand, asks).place(who.uid) is not None
        )

    def place(self, who: PendingWorkload, assignment: Assignment) -> str | None:
        """Take room on the best cluster that can hold all of it."""
        cluster = self._choose(who, assignment, ())
        if cluster is not None:
            self._put_on(who, assignment, cluster)
        return cluster

    def claim(
        self, who: PendingWorkload, assignment: Assignment, gone: Sequence[AdmittedWorkload]
    ) -> str | None:
        """The best cluster that can hold all of it, once `gone` are."""
        return self._choose(who, assignment, gone)

    def _choose(
        self, who: PendingWorkload, assignment: Assignment, gone: Sequence[AdmittedWorkload]
    ) -> str | None:
        demand = self._demand(who, sized(who, assignment))
        for asks in dict.fromkeys((assign_with_scale_up.there(assignment.asks), assignment.asks)):
            choice = self._search(gone, copied=True).picker(demand, asks).place(who.uid)
            if choice is not None:
                return choice.cluster
        return None

    def _put_on(self, who: PendingWorkload, assignment: Assignment, cluster: str) -> None:
        put = list(zip(sized(who, assignment), assignment.asks, strict=True))
        self._put[who.uid] = (cluster, put)
        self._charge(self._room, cluster, put)

    def has_claim(self, who: PendingWorkload) -> bool:
        """What was freed is seen at once here: nothing is on its way."""
        return False

    def may_use(self, who: PendingWorkload) -> list[str]:
        """The clusters it may go to, room aside."""
        allowed = self._search(()).allowed(self._demand(who, who.pod_sets))
        return [name for name, may in zip(self._layout.names, allowed, strict=True) if may]

    def stands_on(self, holder: AdmittedWorkload) -> str:
        """The cluster that holds it; "" where none has to."""
        cluster, _ = self._put.get(holder.uid, ("", []))
        return cluster

    def fits_on(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        asks: tuple[NodeAsk, ...],
        cluster: str,
        gone: Sequence[AdmittedWorkload],
    ) -> bool:
        """Can this cluster hold all pods once `gone` are?"""
        absent = {h.uid for h in gone}
        alone = {cluster: self._clusters[cluster]}
        room = Room.of(Layout(list(alone.values())), alone)
        for uid, (where, put) in self._put.items():
            if where == cluster and uid not in absent:
                self._charge(room, cluster, put)
        pairs = zip(pod_sets, asks, strict=True)
        return room.take_all([(room.layout.need(p.requests, a), p.count) for p, a in pairs], 0)

    def explain(
        self, who: PendingWorkload, pod_sets: Sequence[PodSet], asks: tuple[NodeAsk, ...]
    ) -> tuple[Reason, str]:
        """Why no cluster holds it, and which came nearest."""
        none = self._search(()).explain(self._demand(who, pod_sets), asks)
        return none.reason, none.message

    def release(self, uid: str) -> None:
        """Its pods are gone."""
        if self._put.pop(uid, None) is not None:
            self._room = self._without(())

    def _settle(self, holder: AdmittedWorkload, pod_sets: Sequence[PodSet]) -> None:
        """A running workload stands where its status says, else where it fits best."""
        flavors = {of.flavor for of in holder.usage}
        known = [self._catalog.flavors[f] for f in sorted(flavors) if f in self._catalog.flavors]
        put = [(p, self._catalog.ask(p, known)) for p in pod_sets]
        cluster = holder.cluster if holder.cluster in self._clusters else None
        if cluster is None and put:
            who = PendingWorkload(
                holder.uid, holder.namespace, holder.name, holder.queue, tuple(pod_sets)
            )
            demand = self._demand(who, pod_sets)
            choice = (
                self._search((), copied=True)
                .picker(demand, tuple(a for _, a in put))
                .place(who.uid)
            )
            cluster = choice.cluster if choice else None
        if cluster is not None:
            self._put[holder.uid] = (cluster, put)
            self._charge(self._room, cluster, put)

    def _charge(self, room: Room, cluster: str, put: list[tuple[PodSet, NodeAsk]]) -> None:
        at = room.layout.position[cluster]
        for pod_set, ask in put:
            room.promise(room.layout.need(pod_set.requests, ask), pod_set.count, at)

    def _without(self, gone: Iterable[str]) -> Room:
        absent = set(gone)
        room = Room.of(self._layout, self._clusters)
        for uid, (cluster, put) in self._put.items():
            if uid not in absent:
                self._charge(room, cluster, put)
        return room

    def _search(self, gone: Sequence[AdmittedWorkload], *, copied: bool = False) -> ClusterSearch:
        room = self._room.copy() if copied else self._room
        if gone:
            room = self._without(h.uid for h in gone)
        return ClusterSearch(self._clusters, room, FILTERS, self._now)

    def _demand(self, who: PendingWorkload, pod_sets: Sequence[PodSet]) -> Demand:
        sets = tuple(pod_sets)
        constraints = read_constraints(who.annotations, None, None, sets)
        shape = shape_hash(sets)
        return Demand(
            key=explanation_key(who.queue, shape, [constraints]),
            queue=who.queue,
            priority=who.priority,
            shape=shape,
            pod_sets=sets,
            constraints=constraints,
        )

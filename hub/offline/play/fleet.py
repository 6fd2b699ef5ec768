"""Room on the members of a scene, while rounds are played.

It is the live fleet, begun empty: whatever runs was put there by somebody, so that what becomes free is
known to the pod and not estimated.
"""

from collections.abc import Collection, Mapping, Sequence

from hub.domain.admission import assign_with_scale_up
from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.capacity_view import LiveFleet
from hub.domain.cycle.sizes import demand_at, sized
from hub.domain.cycle.taken import Taken
from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.instants import from_micros
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.registry import FILTERS
from hub.domain.plan import Assignment
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.offline.play.waiting import demand_of
from shared.resources import PodSet


class DeclaredFleet(LiveFleet):
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
        empty = Room.of(Layout(list(clusters.values())), clusters)
        room = empty.copy()
        super().__init__(empty, room, self._search_in(room), {})
        for holder in sorted(holders, key=lambda h: (not h.cluster, h.reserved_at, h.identity)):
            self._settle(holder, tuple(pod_sets.get(holder.uid, ())))

    def can_hold(
        self,
        who: PendingWorkload,
        pod_sets: Sequence[PodSet],
        asks: tuple[NodeAsk, ...],
        gone: Sequence[AdmittedWorkload] = (),
    ) -> bool:
        """Can some cluster hold all pods, once `gone` are? Without `gone` it is certain, too."""
        return super().can_hold(who, pod_sets, asks, gone) and (
            bool(gone) or self._search.holds(demand_at(who, pod_sets), asks)
        )

    def place(self, who: PendingWorkload, assignment: Assignment) -> str | None:
        """Take room on the best cluster that can hold all of it; what starts at once is no backlog."""
        cluster = super().place(who, assignment)
        if cluster is not None:
            self._search = self._search_in(self._room)
        return cluster

    def claim(
        self, who: PendingWorkload, assignment: Assignment, gone: Sequence[AdmittedWorkload]
    ) -> str | None:
        """The best cluster that can hold all of it once `gone` are. Their freed room counts at once."""
        search = self._search_in(self._laid_out({holder.uid for holder in gone}))
        demand = demand_at(who, sized(who.pod_sets, assignment))
        for asks in dict.fromkeys((assign_with_scale_up.there(assignment.asks), assignment.asks)):
            choice = search.picker(demand, asks).place(who.uid)
            if choice is not None:
                return choice.cluster
        return None

    def stands_on(self, holder: AdmittedWorkload) -> str:
        """The cluster that holds it; "" where none has to."""
        taken = self._taken.get(holder.uid)
        return "" if taken is None else self._room.layout.names[taken.at]

    def release(self, uid: str) -> None:
        """Its pods are gone: the others are laid out again, and checked again."""
        if self._taken.pop(uid, None) is None:
            return
        self._room = self._laid_out(set())
        self._search = self._search_in(self._room)
        self.choices.clear()
        self.refusals.clear()

    def _laid_out(self, gone: Collection[str]) -> Room:
        """The room beside everybody but these."""
        room = self._before.copy()
        for uid, taken in self._taken.items():
            if uid not in gone:
                for need, count in taken.needs:
                    room.promise(need, count, taken.at)
        return room

    def _search_in(self, room: Room) -> ClusterSearch:
        return ClusterSearch(self._clusters, room, FILTERS, self._now)

    def _settle(self, holder: AdmittedWorkload, pod_sets: tuple[PodSet, ...]) -> None:
        """A running workload is where its status says, else where it fits best."""
        flavors = {of.flavor for of in holder.usage}
        known = [self._catalog.flavors[f] for f in sorted(flavors) if f in self._catalog.flavors]
        asks = tuple(self._catalog.ask(p, known) for p in pod_sets)
        needs = self._needs(pod_sets, asks)
        at = self._room.layout.position.get(holder.cluster)
        if at is not None:
            for need, count in needs:
                self._room.promise(need, count, at)
        elif pod_sets:
            who = PendingWorkload(
                holder.uid, holder.namespace, holder.name, holder.queue, pod_sets
            )
            choice = self._search.picker(demand_of(who), asks).place(who.uid)
            at = None if choice is None else self._room.layout.position[choice.cluster]
        if at is not None:
            self._taken[holder.uid] = Taken(at, needs)
            self._search = self._search_in(self._room)

"""Required affinity over availability, which shrinks while a cycle takes room: asked each time."""

from collections.abc import Mapping
from decimal import Decimal

from hub.domain.fleet.clusters import Cluster, dynamic_resource, in_units
from hub.domain.fleet.free_capacity import Room
from hub.domain.workloads.demand import Constraints
from hub.domain.workloads.placement_policy import Required


def by_availability(constraints: Constraints) -> bool:
    """Does required affinity look at something that shrinks while room is taken?"""
    policy = constraints.policy
    return policy is not None and any(
        dynamic_resource(e.name) for term in policy.required for e in term.properties
    )


class AvailabilityGuard:
    """Required affinity over availability, asked again before each placement of a cycle."""

    def __init__(
        self, constraints: Constraints, clusters: Mapping[str, Cluster], room: Room
    ) -> None:
        assert constraints.policy is not None
        self._terms = constraints.policy.required
        self._clusters = clusters
        self._room = room

    def __call__(self, at: int) -> bool:
        cluster = self._clusters[self._room.layout.names[at]]
        return any(self._holds(term, cluster, at) for term in self._terms)

    def _holds(self, term: Required, cluster: Cluster, at: int) -> bool:
        if term.selector is not None and not term.selector.matches(cluster.labels):
            return False
        return all(e.holds(self._measure(e.name, cluster, at)) for e in term.properties)

    def _measure(self, name: str, cluster: Cluster, at: int) -> Decimal | str | None:
        resource = dynamic_resource(name)
        if resource is None or resource not in cluster.free:
            return cluster.value(name)
        return in_units(
            resource, max(0, int(self._room.left[self._room.layout.row[resource], at]))
        )

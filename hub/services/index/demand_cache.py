"""The class of equals of a waiting workload: one `Demand` per distinct row, created once."""

from dataclasses import replace
from typing import Any, Final

import orjson

from hub.domain.workloads import demand as demands
from hub.domain.workloads.demand import Demand
from hub.services.consent.namespaces import Consents
from hub.services.index.catalog import Route, Routes
from hub.store.schedule import Alike, SchedulingRow
from hub.store.workloads import BARE
from shared.resources import PodSet

MOST: Final = 50_000  # classes remembered


class Demands:
    """Demands by what makes them. `keys` collects the node label keys that they look at."""

    def __init__(
        self, routes: Routes, keys: set[str], consents: Consents, *, balanced: bool = True
    ) -> None:
        """`balanced`: where no placement's sorters decide; else KubeFleet's arithmetic."""
        self._balanced = balanced
        self._routes = routes
        self._keys = keys
        self._consents = consents
        self._known: dict[tuple[Any, ...], Demand] = {}

    def of(self, row: SchedulingRow | Alike, route: Route, pod_sets: tuple[PodSet, ...]) -> Demand:
        """The demand of a row, or of rows alike; raises `Rejected` for a selector that can not be read."""
        self._keys |= demands.selected_keys(pod_sets)
        # Where LocalQueues take turns by what they used, their workloads are no equals.
        local_queue = (f"{row.namespace}/{route.local_queue}",) if route.by_usage else ()
        consent = self._consents.of(row.namespace) if row.kind != BARE else None
        key = (
            route.cluster_queue,
            row.kind,
            row.api_version,
            row.priority,
            row.shape,
            row.placement,
            row.annotations,
            row.set_aside,
            local_queue,
            route.members,
            route.avoided,
            consent,
        )
        found = self._known.get(key)
        policy = self._routes.policy(row.placement) if row.placement else None
        if found is not None and found.constraints.policy is policy:
            return found
        constraints = demands.QUOTA_ONLY
        if row.kind != BARE:
            constraints = demands.read_constraints(
                orjson.loads(row.annotations or b"{}") or {},
                orjson.loads(row.set_aside or b"null"),
                policy,
                pod_sets,
            )
            if (kind := demands.kind_constraint(row.api_version, row.kind)) != constraints.kind:
                constraints = replace(constraints, kind=kind)
            if route.members is not None:
                constraints = replace(constraints, members=route.members)
            if route.avoided:
                constraints = replace(constraints, avoided=route.avoided)
            if consent is not None:
                constraints = replace(constraints, consent=consent)
        demand = Demand(
            key=demands.explanation_key(
                route.cluster_queue,
                row.shape,
                (row.priority, row.placement, constraints, *local_queue),
            ),
            queue=route.cluster_queue,
            priority=row.priority,
            shape=row.shape,
            pod_sets=pod_sets,
            constraints=constraints,
            placement=row.placement,
            profile=() if self._balanced else demands.queue_profile(pod_sets),
        )
        if len(self._known) > MOST:
            self._known.clear()
        self._known[key] = demand
        return demand

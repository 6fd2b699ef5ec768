"""Routes a waiting workload: the queue it may enter, and its class of equals there."""

from collections.abc import Mapping

from hub.domain.plan import Reason
from hub.domain.workloads.demand import Demand
from hub.services.index.catalog import Route, Routes
from hub.services.index.demand_cache import Demands
from hub.services.index.held_back import BackingOff
from hub.store.schedule import Alike, SchedulingRow
from hub.store.workloads import BARE
from shared.resources import PodSet


class PendingRouter:
    """Part of the scheduler's index; `shapes`: the requests, by digest, or why they are unreadable."""

    def __init__(
        self,
        routes: Routes,
        shapes: Mapping[str, tuple[PodSet, ...] | Exception],
        demands: Demands,
        backing_off: BackingOff,
    ) -> None:
        self._routes = routes
        self._shapes = shapes
        self._demands = demands
        self._backing_off = backing_off

    def place(self, row: SchedulingRow) -> tuple[Route, Demand | None]:
        """The waiting place and demand of a workload; without demand, the reason against it."""
        if (backing_off := self._backing_off.route(row)) is not None:
            return backing_off, None
        return self.stand(row)

    def stand(self, row: SchedulingRow | Alike) -> tuple[Route, Demand | None]:
        """The same of one that does not back off, or of a class of them."""
        policy = self._routes.policy(row.placement) if row.placement else None
        placed = policy is not None or row.kind == BARE  # placements select Jobs
        route = self._routes.route(row.namespace, row.queue, placed=placed)
        if route.reason:
            return route, None
        pod_sets = self._shapes.get(row.shape)
        fault: object = pod_sets
        if isinstance(pod_sets, tuple):
            try:
                return route, self._demands.of(row, route, pod_sets)
            except Exception as error:  # noqa: BLE001 - one unusable workload must not stop the others
                fault = error
        message = f"{type(fault).__name__}: {fault}" if fault else "its shape is unknown"
        return Route(reason=Reason.UNREADABLE, message=message[:500]), None

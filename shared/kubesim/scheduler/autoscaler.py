"""Pools with `maxNodes` grow: nodes come when pods wait that a new node would hold, and stay.

As the real cluster autoscaler acts on pods that are marked unschedulable: it asks for as few nodes as
will do, `addSeconds` (5) pass until they are there, and it looks again after that. Nodes are not taken
away again: a simulated node costs nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.clock import Clock
from shared.kubesim.agenda import Agenda, WorkList, seconds
from shared.kubesim.kubelet.nodes import Nodes
from shared.kubesim.scheduler.binder import Binder, node_room
from shared.kubesim.scheduler.fitting import Room, lacking, static_fault
from shared.resources import PodSet

_ADD_S: Final = 5.0


class Autoscaler:
    """Adds nodes to pools that may grow."""

    def __init__(
        self,
        clock: Clock,
        agenda: Agenda,
        binder: Binder,
        nodes: Nodes,
        pools: Iterable[Mapping[str, Any]],
    ) -> None:
        self._clock = clock
        self._binder = binder
        self._nodes = nodes
        self._pools = {str(p["name"]): p for p in pools if int(p.get("maxNodes") or 0)}
        self._due: WorkList[str] = WorkList(agenda)
        self._asked: set[str] = set()  # pools whose new nodes are on their way

    def run(self, now: float) -> None:
        """Ask for nodes where pods wait for them; let those come that were asked for."""
        self._due.each(self._grow, now)
        stuck = self._binder.stuck() if self._pools else {}
        if not stuck:
            return
        for name, pool in self._pools.items():
            if name not in self._asked and self._wanted(name, stuck):
                self._asked.add(name)
                wait_s = float(pool.get("addSeconds", _ADD_S))
                self._due.add_at(name, seconds(self._clock.now()) + wait_s)

    def _grow(self, name: str) -> None:
        self._asked.discard(name)
        for _ in range(self._wanted(name, self._binder.stuck())):
            self._nodes.grow(self._pools[name])

    def _wanted(self, name: str, stuck: Mapping[PodSet, int]) -> int:
        """How many new nodes would hold the waiting pods; at most as many as may come."""
        pool = self._pools[name]
        left = int(pool["maxNodes"]) - self._nodes.count_of(name)
        if left <= 0:
            return 0
        template = node_room(self._nodes.template(pool))
        needed = 0
        for shape, waiting in stuck.items():
            each = _slots(shape, template)
            needed += -(-waiting // each) if each else 0
        return min(needed, left)


def _slots(shape: PodSet, node: Room) -> int:
    """How many such pods an empty node of this kind holds."""
    if static_fault(shape, node) or lacking(shape.requests, node.allocatable):
        return 0
    requests = {**shape.requests, "pods": max(1, shape.requests.get("pods", 0))}
    return min(node.allocatable.get(r, 0) // amount for r, amount in requests.items() if amount)

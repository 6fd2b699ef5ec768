"""Flavors with scale-up: repeats the search with nodes that may be added, if existing ones do not suffice.

Real room goes first: of all flavors, not only of the first one. Preemption comes after growth: no workload
is preempted for room that an autoscaler would add, only for quota.
"""

from collections.abc import Iterable
from dataclasses import replace

from hub.domain.admission import flavor_assigner
from hub.domain.admission.flavor_assigner import Mode, Request, Search
from hub.domain.fleet.free_capacity import NodeAsk


def search(request: Request, *, grows: bool) -> Search:
    """The result of `flavor_assigner.search`; if nothing fits, the result with pools that may grow."""
    can_hold = request.can_hold
    if not grows or can_hold is None:
        return flavor_assigner.search(request)
    closed = False

    def holds_now(asks: tuple[NodeAsk, ...]) -> bool:
        nonlocal closed
        held = can_hold(asks)
        closed |= not held
        return held

    found = flavor_assigner.search(replace(request, can_hold=holds_now))
    if found.mode is Mode.FIT:
        return found
    if closed:
        wider = replace(request, can_hold=lambda asks: can_hold(growing(asks)))
        found = flavor_assigner.search(wider)
    return _wider(found)


def _wider(found: Search) -> Search:
    """The same answer, for nodes that may come too."""
    assignment = found.assignment
    if assignment is not None:
        assignment = replace(assignment, asks=growing(assignment.asks))
    asks = None if found.asks is None else growing(found.asks)
    return replace(found, assignment=assignment, asks=asks)


def there(asks: Iterable[NodeAsk]) -> tuple[NodeAsk, ...]:
    """The nodes there are alone."""
    return tuple(ask._replace(growing=False) for ask in asks)


def growing(asks: Iterable[NodeAsk]) -> tuple[NodeAsk, ...]:
    """The same nodes, and those of their kind that pools may still add."""
    return tuple(ask._replace(growing=True) for ask in asks)

"""Room taken of clusters since a cycle began, by rounds of any kind: each "what if" takes it again."""

from collections.abc import Sequence
from dataclasses import dataclass

from hub.domain.fleet.clusters import IntArray
from hub.domain.fleet.free_capacity import Need, Room
from hub.domain.placement.fitting import orders_of
from hub.domain.quota.holders import AdmittedWorkload

Needs = tuple[tuple[Need, int], ...]


@dataclass(slots=True)
class Taken:
    """Room taken on a cluster since the cycle began. `times`: of how many equals.

    `kept`: by nodes, where it is a claim, on nodes of these names, and `counts_on`: who leaves that
    cluster for it.
    """

    at: int
    needs: Needs
    kept: IntArray | None = None
    counts_on: Sequence[AdmittedWorkload] = ()
    nodes: tuple[str, ...] = ()
    times: int = 1


def take(room: Room, needs: Needs, at: int) -> bool:
    """Put all pods in cluster `at`, or none, in any order that is worth a try."""
    return any(room.take_all(order, at) for order in orders_of(needs))


def promise(room: Room, needs: Needs, at: int, times: int = 1) -> None:
    """Take room for all pods in cluster `at`, for as many equals as `times`, as far as there is any."""
    for need, count in needs:
        room.promise(need, count * times, at)


def take_on(room: Room, needs: Needs, at: int, nodes: Sequence[str]) -> bool:
    """Put all pods on these nodes of cluster `at`, else on any; False, with nothing taken, if neither."""
    there = on_nodes(room, needs, at, nodes)
    return (there is not None and take(room, there, at)) or take(room, needs, at)


def exactly_on(room: Room, needs: Needs, at: int, nodes: Sequence[str]) -> Needs | None:
    """The same pods, on just these nodes where any are named."""
    return on_nodes(room, needs, at, nodes) if nodes else needs


def on_nodes(room: Room, needs: Needs, at: int, nodes: Sequence[str]) -> Needs | None:
    """The same pods on these nodes of cluster `at` alone; None where none are named, or they are gone."""
    only, found = room.layout.only, []
    for need, count in needs:
        there = only(need, at, nodes, coming=True) if nodes else None
        if there is None:
            return None
        found.append((there, count))
    return tuple(found)

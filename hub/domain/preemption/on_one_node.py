"""Victims for quota that stand together, where fewer of them leave both the quota and the room.

Kueue's order knows quota alone: it may take one workload here and one there until some node happens to have
the room. So the same selection runs again with candidates of one node only (of one cluster, if the nodes
are unknown), and its result is used if it has fewer victims and the highest priority among them is no
higher.
It also spares every workload that the policies spare; without clusters nothing differs from Kueue.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from hub.domain.preemption import classical
from hub.domain.preemption.search import Contest, Victim
from hub.domain.quota.holders import AdmittedWorkload

_LOOKED_AT: Final = 64  # nodes on which room is looked for
_TRIED: Final = 16  # … and for which a selection is made
_Place = tuple[str, int]  # cluster, number of a node of it (-1: not known)


class KnownHosts(Protocol):
    """The locations of workloads."""

    def stands_on(self, holder: AdmittedWorkload) -> str: ...

    def hosts(self, holder: AdmittedWorkload) -> Sequence[int]: ...


def fewer(contest: Contest, found: list[Victim], fleet: KnownHosts) -> list[Victim]:
    """`found`, or fewer victims that leave the quota and the room together."""
    best = _cost(found) if found else None
    if (best is not None and best[1] < 2) or (best is None and contest.limits.budget is None):
        return found
    has_room = contest.has_room
    assert has_room is not None
    for uids in _together(contest, found, fleet, has_room)[:_TRIED]:
        victims = classical.find_victims(replace(contest, only=uids))
        if not victims:
            continue
        priority, count = cost = _cost(victims)
        if best is None or (priority <= best[0] and count < best[1]):
            found, best = victims, cost
        if best[1] < 2:
            break
    return found


def _cost(victims: Sequence[Victim]) -> tuple[int, int]:
    """The highest priority, and the number of victims."""
    told = [v.holder for v in victims if not v.holder.evicted]
    return max((h.priority for h in told), default=-(1 << 62)), len(told)


def _together(
    contest: Contest,
    found: Sequence[Victim],
    fleet: KnownHosts,
    has_room: Callable[[Sequence[AdmittedWorkload]], bool],
) -> list[frozenset[str]]:
    """Uids of those who stand together and would leave the room: where victims were found, and few, first."""
    places: dict[_Place, list[AdmittedWorkload]] = {}
    leaving = [h for h in contest.quota_state.all_holders() if h.evicted]
    node = contest.node
    for queue in (node,) if node.parent is None else node.root().queues():
        for holder in contest.quota_state.queue_holders(queue.name):
            if holder.evicted or not (cluster := fleet.stands_on(holder)):
                continue
            for number in fleet.hosts(holder) or (-1,):
                places.setdefault((cluster, number), []).append(holder)
    chosen = {v.holder.uid for v in found}

    def rank(item: tuple[_Place, list[AdmittedWorkload]]) -> tuple[bool, int, _Place]:
        place, those = item
        return not any(h.uid in chosen for h in those), len(those), place

    ordered = sorted(places.items(), key=rank)[:_LOOKED_AT]
    return [
        frozenset(h.uid for h in those) for _, those in ordered if has_room([*leaving, *those])
    ]

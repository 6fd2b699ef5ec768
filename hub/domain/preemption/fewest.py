"""From some victims that leave enough room to the cheapest that do.

Cheapest: the highest priority among them is the lowest that will do, then they are the fewest, then the least
work is lost. A pod runs on one node: if the nodes of the candidates are known, those of one node are tried
together, and no others. The search is exact as long as it takes no more than `LOOKS` looks; after
that the cheapest found so far stands.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.quota.holders import AdmittedWorkload

Cost = tuple[int, int, int]  # highest priority among them, how many, microseconds of work lost
Holders = Sequence[AdmittedWorkload]

LOOKS: Final = 200


@dataclass(slots=True)
class Sought:
    """The search for victims. `alone`: it is one pod. `most`: the maximum number of victims."""

    fits: Callable[[Holders], bool]
    cost: Callable[[Holders], Cost]
    hosts: Callable[[AdmittedWorkload], Sequence[int]]
    alone: bool
    most: int | None = None
    looks: int = LOOKS

    def look(self, gone: Holders) -> bool:
        """Does it fit once these are gone?"""
        self.looks -= 1
        return self.fits(gone)


def cheapest(found: Holders, those: Holders, sought: Sought) -> list[AdmittedWorkload] | None:
    """Of the candidates `those` the cheapest that leave enough room, as `found` does; None: too many must go.

    A workload that already leaves costs nothing.
    """
    leaving = [h for h in those if h.evicted]
    told = [h for h in found if not h.evicted]
    if not told:
        return list(found)
    over = sought.most is not None and len(told) > sought.most
    limit = max(h.priority for h in told)
    may_go = [h for h in those if not h.evicted and (over or h.priority <= limit)]
    size = len(told) if not over or sought.most is None else sought.most
    best = None if over else told
    for gone in _enough(may_go, leaving, size, sought, every=over):
        if best is None or sought.cost(gone) < sought.cost(best):
            best = list(gone)
    return None if best is None else [*leaving, *best]


def _enough(
    may_go: Holders, leaving: Holders, most: int, sought: Sought, *, every: bool
) -> Iterator[Holders]:
    """Sets of at most so many that leave enough room; unless `every`, of the smallest size there is."""
    groups = [group for group in _groups(may_go, sought) if _may_do(group, leaving, sought)]
    for size in range(1, most + 1):
        seen = False
        for gone in itertools.chain.from_iterable(
            itertools.combinations(group, size) for group in groups
        ):
            if sought.looks <= 0:
                return
            if sought.look([*leaving, *gone]):
                seen = True
                yield gone
        if seen and not every:
            return


def _may_do(group: Holders, leaving: Holders, sought: Sought) -> bool:
    return sought.looks > 0 and sought.look([*leaving, *group])


def _groups(may_go: Holders, sought: Sought) -> list[list[AdmittedWorkload]]:
    """Candidates that must be tried together: those of one node if that is known, else all."""
    ordered = sorted(may_go, key=lambda h: sought.cost([h]))
    hosts = [sought.hosts(h) for h in ordered]
    if not sought.alone or not all(hosts):
        return [ordered]
    found: dict[int, list[AdmittedWorkload]] = {}
    for holder, nodes in zip(ordered, hosts, strict=True):
        for node in nodes:
            found.setdefault(node, []).append(holder)
    return list(found.values())

"""One flavor and resource over all nodes of a quota tree, as columns by a node's place.

Preemption asks for what is available some hundred times per head; lists answer without a look-up. The
root's place is 0. `tree` gives nodes their places and keeps the columns.
"""

from typing import Final, NamedTuple

from shared import quantity

UNLIMITED: Final = quantity.MAX


class Column(NamedTuple):
    """Quota of one flavor and resource over a tree, by place; None: none of the nodes has any."""

    subtree: list[int]
    local: list[int] | None
    limits: list[int | None] | None
    plain: bool  # only the root's remainder bounds each node

    @classmethod
    def of(cls, subtree: list[int], local: list[int], limits: list[int | None]) -> "Column":
        """From what every node has."""
        lends_all = not any(local)
        unbounded = all(limit is None for limit in limits)
        plain = lends_all and unbounded and max(subtree) < UNLIMITED
        return cls(subtree, None if lends_all else local, None if unbounded else limits, plain)


def plus(a: int, b: int) -> int:
    """A sum of what may be unlimited; an unlimited part makes it so."""
    return UNLIMITED if a >= UNLIMITED or b >= UNLIMITED else min(UNLIMITED, a + b)


def available(column: Column, used: list[int], places: tuple[int, ...]) -> int:
    """The remaining quota of a node: `places` are its own and those above, to that of the root."""
    if column.plain:
        return column.subtree[0] - used[0]
    free = 0
    for at in reversed(places):
        subtree, local = column.subtree[at], column.local[at] if column.local else 0
        if subtree >= UNLIMITED:
            free = UNLIMITED
        elif at == 0:  # the root
            free = subtree - used[0]
        else:
            limit = column.limits[at] if column.limits else None
            if limit is not None:
                free = min(free, plus(subtree - local, limit) - max(0, used[at] - local))
            if local > used[at]:
                free = plus(local - used[at], free)
    return free


def charge(local: list[int], used: list[int], places: tuple[int, ...], rest: int) -> None:
    """Charge `rest`: of what fits the unused part that a node never lends nothing moves up."""
    for at in places:
        if rest <= 0:
            return
        unused = local[at] - used[at]
        used[at] += rest
        rest -= max(0, unused)


def release(local: list[int], used: list[int], places: tuple[int, ...], rest: int) -> None:
    """Take `rest` back, as far up as it had moved."""
    for at in places:
        if rest <= 0:
            return
        beyond = used[at] - local[at]
        used[at] -= rest
        rest = min(rest, beyond)  # what had moved up

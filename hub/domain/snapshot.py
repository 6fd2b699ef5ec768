"""The immutable picture a cycle reasons about, and the settings it reasons with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hub.domain.flavors import Market
from hub.domain.fleet import Cluster
from hub.domain.placement.framework import Filter
from hub.domain.placement.registry import FILTERS
from hub.domain.queueing import Lane
from hub.domain.quota import ClusterQueue, Ledger
from hub.domain.room import Room


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Queues with who waits in them, what is charged, and the fleet with what is promised.

    `clusters` are all known members, also those that may get nothing; `room` counts every promise and
    is laid out over the same clusters. The cycle takes copies and changes none of it.
    """

    queues: Sequence[tuple[ClusterQueue, Sequence[Lane]]]
    ledger: Ledger
    market: Market
    clusters: Mapping[str, Cluster]
    room: Room


def forever(placed: int) -> bool:
    """No limit."""
    return True


@dataclass(frozen=True, slots=True)
class Profile:
    """How a cycle decides. `may_go_on` is asked now and then with the number of placements made."""

    filters: Sequence[Filter] = field(default=FILTERS)
    may_go_on: Callable[[int], bool] = forever
    max_placements: int = 1 << 30
    one_round: bool = False  # Kueue's cycle; the live cycle repeats rounds

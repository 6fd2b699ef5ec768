"""Members as decisions of placements see them."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import replace

from hub.domain.fleet.clusters import Cluster
from hub.services.index.fleet import is_fenced, read_member
from hub.store import clusters, schedule
from hub.store.transaction import Transaction


def read_fleet(
    tx: Transaction,
    names: Collection[str] | None = None,
    promised: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, Cluster]:
    """All members, or those named; one that is fenced or leaves is none. `promised`: amounts by member."""
    capacities = clusters.get_capacities(tx, names)
    leaving = clusters.leaving(tx)
    found = {
        member.name: read_member(member, capacities.get(member.name, (None,))[0])[1]
        for member in clusters.list_all(tx)
        if (names is None or member.name in names)
        and not is_fenced(member)
        and member.name not in leaving
    }
    if promised:
        return {n: replace(c, reserved=promised.get(n, {})) for n, c in found.items()}
    return found


def read_heartbeats(tx: Transaction) -> dict[str, dt.datetime | None]:
    """When each member's agent was last heard: it changes without entering the feed."""
    return schedule.heartbeats(tx)

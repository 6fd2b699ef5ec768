"""Forgets refusals of a member once it reports another state of their namespace.

Such a member is set aside for a job longer each time (`hub.domain.workloads.refusals`); what it refused
before says nothing of the new state.
"""

from typing import Final

import orjson

from hub.domain.fleet.clusters import changed_namespaces
from hub.domain.workloads import refusals
from hub.domain.workloads.states import State
from hub.store import clusters, on_members, tallies, workloads
from hub.store.records.members import DownSince
from hub.store.transaction import Transaction
from shared.documents import Json

MOST_WAITING: Final = 20_000  # beyond, each waits until its set-aside is over: ten minutes at most


def store_capacity(
    tx: Transaction, cluster: str, capacity: bytes, down: DownSince | None, *, tells_consent: bool
) -> None:
    """Store what a member has. `tells_consent`: it reports states of namespaces, perhaps changed ones."""
    if tells_consent:
        _forget_changed(tx, cluster, capacity)
    clusters.set_capacity(tx, cluster, capacity, down)


def _forget_changed(tx: Transaction, cluster: str, capacity: bytes) -> None:
    before = clusters.get_capacities(tx, [cluster]).get(cluster)
    if before is None:
        return
    changed = changed_namespaces(_states(before[0]), _states(capacity))
    waiting = [n for name, _, n in tallies.in_state(tx, State.PENDING) if name in (changed or ())]
    if not changed or sum(waiting) > MOST_WAITING:
        return
    kept = {
        uid: refusals.forget(told, cluster)
        for uid, told in on_members.set_aside_in(tx, changed).items()
    }
    workloads.change(
        tx, [{"uid": uid, "set_aside": left} for uid, left in kept.items() if left is not None]
    )


def _states(capacity: bytes) -> dict[str, str] | None:
    told: Json | None = orjson.loads(capacity).get("consent")
    return None if told is None else dict(told.get("states") or {})

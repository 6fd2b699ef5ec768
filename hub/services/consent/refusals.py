"""Forgets refusals of a member once it reports another state of their namespace, or other rights there.

Such a member is set aside for a job longer each time (`hub.domain.workloads.refusals`); what it refused
before says nothing of the new state.
"""

from collections.abc import Collection
from typing import Final

import orjson

from hub.domain.fleet.clusters import Cluster, changed_for_jobs, with_report
from hub.domain.workloads import refusals
from hub.domain.workloads.states import State
from hub.store import clusters, on_members, tallies, workloads
from hub.store.records.members import DownSince
from hub.store.transaction import Transaction
from shared.consent import CREATE_FORBIDDEN
from shared.documents import JsonView

MOST_WAITING: Final = 20_000  # beyond, each waits until its set-aside is over: ten minutes at most
CREATE_ALLOWED: Final = "CreateAllowed"
_RIGHTS: Final = "jobs_forbidden_in"  # of agent_v1.Capacity
_NAMED: Final = 10  # namespaces in an event


def store_capacity(tx: Transaction, cluster: str, capacity: bytes, down: DownSince | None) -> None:
    """Store what a member has, and follow other states of namespaces or rights than those of its row.

    `capacity`: agent_v1.Capacity as JSON. Rights that it does not know yet stay as they are stored.
    """
    row = clusters.get_capacities(tx, [cluster]).get(cluster)
    stored = None if row is None else orjson.loads(row[0])
    told = orjson.loads(capacity)
    if stored is not None and told.get(_RIGHTS) is None and stored.get(_RIGHTS) is not None:
        told[_RIGHTS] = stored[_RIGHTS]
        capacity = orjson.dumps(told)
    _follow(tx, cluster, stored, told)
    clusters.set_capacity(tx, cluster, capacity, down)


def _follow(tx: Transaction, name: str, stored: JsonView | None, told: JsonView) -> None:
    before = None if stored is None else _read(stored)
    after = _read(told)
    had = frozenset() if before is None else before.jobs_forbidden_in
    _say(tx, name, after.jobs_forbidden_in - had, had - after.jobs_forbidden_in)
    if before is not None:
        _forget(tx, name, changed_for_jobs(before, after) or frozenset())


def _say(tx: Transaction, name: str, forbidden: Collection[str], allowed: Collection[str]) -> None:
    """One event for what the agent may do no longer, and one for what it may do again."""
    member = clusters.get(tx, name) if forbidden or allowed else None
    if member is None:
        return
    for reason, word, told, bad in (
        (CREATE_FORBIDDEN, "may not create Jobs (403)", forbidden, True),
        (CREATE_ALLOWED, "may create Jobs again", allowed, False),
    ):
        if told:
            named, more = sorted(told)[:_NAMED], len(told) - _NAMED
            left = f" and {more} more namespaces" if more > 0 else ""
            text = f"its agent's account {word} in: {', '.join(named)}{left}"
            clusters.say(tx, member, reason, text, warning=bad)


def _forget(tx: Transaction, cluster: str, changed: frozenset[str]) -> None:
    if not changed:
        return
    waiting = [n for name, _, n in tallies.in_state(tx, State.PENDING) if name in changed]
    if sum(waiting) > MOST_WAITING:
        return
    kept = {
        uid: refusals.forget(told, cluster)
        for uid, told in on_members.set_aside_in(tx, changed).items()
    }
    workloads.change(
        tx, [{"uid": uid, "set_aside": left} for uid, left in kept.items() if left is not None]
    )


def _read(told: JsonView) -> Cluster:
    """Read consent and rights of a report, and nothing else of it."""
    return with_report(Cluster(""), {key: told.get(key) for key in ("consent", _RIGHTS)})

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
from shared.wire.agent_v1 import Capacity

MOST_WAITING: Final = 20_000  # beyond, each waits until its set-aside is over: ten minutes at most
CREATE_ALLOWED: Final = "CreateAllowed"
_NAMED: Final = 10  # namespaces in an event


def is_news(told: Capacity | None, forbidden: list[str] | None) -> bool:
    """May a report tell other states of namespaces or rights? `forbidden`: as stored; None: not known."""
    if told is None:
        return False
    return told.consent is not None or told.jobs_forbidden_in != forbidden


def store_capacity(
    tx: Transaction, cluster: str, capacity: bytes, down: DownSince | None, *, tells_consent: bool
) -> None:
    """Store what a member has. `tells_consent`: perhaps it reports other states of namespaces or rights."""
    if tells_consent:
        _follow(tx, cluster, capacity)
    clusters.set_capacity(tx, cluster, capacity, down)


def _follow(tx: Transaction, name: str, capacity: bytes) -> None:
    stored = clusters.get_capacities(tx, [name]).get(name)
    before = None if stored is None else _read(stored[0])
    after = _read(capacity)
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
    waiting = [n for name, _, n in tallies.in_state(tx, State.PENDING) if name in changed]
    if not changed or sum(waiting) > MOST_WAITING:
        return
    kept = {
        uid: refusals.forget(told, cluster)
        for uid, told in on_members.set_aside_in(tx, changed).items()
    }
    workloads.change(
        tx, [{"uid": uid, "set_aside": left} for uid, left in kept.items() if left is not None]
    )


def _read(capacity: bytes) -> Cluster:
    """Read consent and rights of a report, and nothing else of it."""
    told = orjson.loads(capacity)
    about = {key: told.get(key) for key in ("consent", "jobs_forbidden_in")}
    return with_report(Cluster(""), about)

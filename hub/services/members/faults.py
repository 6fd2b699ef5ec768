"""Faults in a member's reports, forbidden or impossible: an event, and a row of the audit.

Whoever errs, or lies, does so again and again: each kind of fault is told once in ten minutes, whatever
the number of requests.
"""

import datetime as dt
from typing import Final

from hub.services.members.verdicts.plain_text import plain
from hub.store import audit, clusters, events
from hub.store.transaction import Transaction

AGAIN: Final = dt.timedelta(minutes=10)
_LOOKED_AT: Final = 50  # events of the member


def note_fault(tx: Transaction, cluster: str, code: str, detail: str) -> None:
    """Write a fault of `cluster`'s agent down, unless one of this code was lately."""
    member = clusters.get(tx, cluster)
    if member is None or is_noted(tx, cluster, code):
        return
    audit.add(
        tx,
        f"agent of {cluster}",
        "sync",
        f"MemberCluster {cluster}",
        code,
    )
    clusters.say(tx, member, code, plain(detail), warning=True)


def said_last(tx: Transaction, begun: str, ended: str) -> dict[str, str]:
    """Members whose newest event of these two is `begun`, with its cause: a new leader reads them."""
    found: dict[str, str] = {}
    for member in clusters.list_all(tx):
        told = [e for reason in (begun, ended) for e in events.about(tx, member.object, reason, 1)]
        newest = max(told, key=lambda event: event.id, default=None)
        if newest is not None and newest.reason == begun:
            found[member.name] = newest.cause
    return found


def is_noted(tx: Transaction, cluster: str, code: str) -> bool:
    """True if a fault of this code was recorded lately: in the store, or by this transaction."""
    told = events.list_events(
        tx, kind="MemberCluster", name=cluster, newest_first=True, limit=_LOOKED_AT
    )
    lately = {event.reason for event in told if tx.now - event.at < AGAIN}
    mine = {event["reason"] for event in tx.events if event["name"] == cluster}
    return code in lately | mine

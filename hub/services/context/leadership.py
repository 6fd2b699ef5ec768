"""Leadership: the leader alone runs the controllers, under a term that every change of leader ends."""

import datetime as dt
from typing import Final

from hub.store import leases
from hub.store.transaction import Transaction

TTL: Final = dt.timedelta(seconds=8)
EVERY_S: Final = 1.0  # interval at which a leader renews, and others check


def seize(tx: Transaction, holder: str) -> int:
    """Become the leader, whoever led before (a hub that is alone on its store): the new term."""
    return leases.seize(tx, holder, TTL)


def renew(tx: Transaction, holder: str) -> int | None:
    """Go on leading, or take the lease once it has run out: the term; None while another leads."""
    return leases.take(tx, holder, TTL)


def is_free(tx: Transaction) -> bool:
    """Whether the lease can be had: asked before it is tried, for a look costs nobody anything."""
    return leases.is_free(tx)


def release(tx: Transaction, holder: str) -> None:
    """Let another lead, if `holder` does: its term stays the present one until then."""
    leases.end(tx, holder)

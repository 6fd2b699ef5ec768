"""Which hub process leads: it alone runs the controllers, under a term that every change of leader ends."""

import datetime as dt

from hub.store import leases
from hub.store.transaction import Transaction

TTL = dt.timedelta(seconds=30)


def seize(tx: Transaction, holder: str) -> int:
    """Lead from now on, whoever led before (the embedded hub, which is alone): the new term."""
    return leases.seize(tx, holder, TTL)


def renew(tx: Transaction, holder: str) -> int | None:
    """Go on leading, or take the lease once it has run out: the term; None while another leads."""
    return leases.take(tx, holder, TTL)

"""Which hub process leads: it alone runs the controllers, under a term that every change of leader ends."""

import datetime as dt

from hub.store import leases
from hub.store.unit import Unit

TTL = dt.timedelta(seconds=30)


def seize(unit: Unit, holder: str) -> int:
    """Lead from now on, whoever led before (the embedded hub, which is alone): the new term."""
    return leases.seize(unit, holder, TTL)


def renew(unit: Unit, holder: str) -> int | None:
    """Go on leading, or take the lease once it has run out: the term; None while another leads."""
    return leases.take(unit, holder, TTL)

"""Who has to be heard before a hub that may be an older copy of itself gives anybody work.

A store that was restored does not know it (`hub.services.context.timeline`): an agent's mark tells. Only the
member that runs a job knows of it, so after a start whose store is not fresh, works are given out when
every joined member has spoken, or has been silent for as long as makes it suspect. Who is still awaited
stands in the store: the heartbeats of those that have spoken make it look fresh to a hub that starts
meanwhile, again or beside this one.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Final

from hub.store import settings
from hub.store.transaction import Transaction

# A store in which somebody was heard this lately is that of a hub that has just been restarted.
FRESH: Final = dt.timedelta(seconds=30)
AWAITED: Final = "awaited_members"  # the setting: names


class RollCall:
    """Which members have not spoken yet, as far as this process knows. Instants are monotonic seconds."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._awaited: set[str] = set()
        self._ends_at = 0.0

    def begin(self, awaited: Collection[str], now: float) -> None:
        """At the start, with what `call` gave."""
        self._awaited = set(awaited)
        self._ends_at = now + self._longest_s

    def awaits(self, cluster: str) -> bool:
        """Whether this member is to be heard."""
        return cluster in self._awaited

    def left(self, awaited: Collection[str]) -> bool:
        """What the store says now of who is awaited; True if nobody is any more, but somebody was."""
        if not self._awaited:
            return False
        self._awaited.intersection_update(awaited)
        return not self._awaited

    def has_waited(self, now: float) -> bool:
        """Whether it is over, though not everybody has spoken: those are suspect."""
        return bool(self._awaited) and self.is_over(now)

    def is_over(self, now: float) -> bool:
        """Whether works may be given out."""
        return not self._awaited or now >= self._ends_at


def call(tx: Transaction, heartbeats: Mapping[str, dt.datetime | None]) -> set[str]:
    """Write down who is awaited, at a start and before anybody is answered; their names.

    `heartbeats`: of joined members, as the store has them.
    """
    before = awaited(tx)
    names = before & heartbeats.keys()
    newest = max((at for at in heartbeats.values() if at is not None), default=None)
    if newest is not None and tx.now - newest > FRESH:
        names = set(heartbeats)
    if names != before:
        _put(tx, names)
    return names


def spoken(tx: Transaction, cluster: str) -> set[str]:
    """A member has told all that it has, and its marks were looked at; who is awaited still."""
    names = awaited(tx) - {cluster}
    _put(tx, names)
    return names


def end(tx: Transaction) -> None:
    """Those that are awaited have been silent for long enough."""
    _put(tx, set())


def awaited(tx: Transaction) -> set[str]:
    """Who is awaited still."""
    return set(settings.get(tx, AWAITED) or ())


def _put(tx: Transaction, names: set[str]) -> None:
    if names:
        settings.put(tx, AWAITED, sorted(names))
    else:
        settings.remove(tx, AWAITED)

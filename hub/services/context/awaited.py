"""Members that must reconnect before a restored hub dispatches, in the store.

The heartbeats of members that have spoken make a store look fresh to a hub that starts meanwhile, again or
beside this one: so it is written down who has not (`hub.services.members.roll_call`).
"""

from collections.abc import Collection
from typing import Final

from hub.store import settings
from hub.store.transaction import Transaction

NAMES: Final = "awaited_members"  # the setting


def call(tx: Transaction, joined: Collection[str], *, fresh: bool) -> set[str]:
    """Store the awaited members, at a start and before any answer; their names.

    `joined`: all members; `fresh`: whether the store was written lately.
    """
    before = left(tx)
    names = before.intersection(joined) if fresh else set(joined)
    if names != before:
        _put(tx, names)
    return names


def spoken(tx: Transaction, cluster: str) -> set[str]:
    """A member has reported everything, and its marks were checked; returns the members still awaited."""
    names = left(tx) - {cluster}
    _put(tx, names)
    return names


def end(tx: Transaction) -> None:
    """Those that are awaited have been silent for long enough."""
    _put(tx, set())


def left(tx: Transaction) -> set[str]:
    """The members still awaited."""
    return set(settings.get(tx, NAMES) or ())


def _put(tx: Transaction, names: set[str]) -> None:
    if names:
        settings.put(tx, NAMES, sorted(names))
    else:
        settings.remove(tx, NAMES)

"""Events added to the history since the last read.

Ids of several hubs are given before they commit: an event may appear below one that was seen. So that
the last few ids are looked at again, and which of them were seen is remembered.
"""

from typing import Final, NamedTuple

from hub.store import events
from hub.store.records.history import StoredEvent
from hub.store.transaction import Transaction

OVERLAP: Final = 200  # ids that are read again


class NewHistory(NamedTuple):
    """`left_out`: how many more there were. `newest`, `seen`: arguments of the next query."""

    events: list[StoredEvent]
    left_out: int
    newest: int
    seen: frozenset[int]


def history_from_now(tx: Transaction) -> NewHistory:
    """None of what there is, and all that comes."""
    newest = events.newest(tx)
    return NewHistory([], 0, newest, events.ids_after(tx, newest - OVERLAP))


def history_since(tx: Transaction, before: NewHistory, most: int) -> NewHistory:
    """At most `most` events that `before` had not seen, by id; of the others how many."""
    late = events.ids_between(tx, before.newest - OVERLAP, before.newest) - before.seen
    start, limit = (min(late) - 1, most + OVERLAP) if late else (before.newest, most)
    found = events.list_after(tx, start, limit)
    told = [each for each in found if each.id > before.newest or each.id in late][:most]
    if not told:
        return before._replace(events=[], left_out=0)
    newest = events.newest(tx)
    all_of_them = len(found) < limit and told[-1].id == found[-1].id
    left_out = 0 if all_of_them else newest - told[-1].id
    return NewHistory(told, left_out, newest, events.ids_after(tx, newest - OVERLAP))

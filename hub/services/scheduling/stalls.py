"""Turns of the scheduler that keep failing: the store records it, for `roadstead admin doctor`."""

from typing import Final

from hub.store import settings
from hub.store.transaction import Transaction
from shared.conditions import rfc3339
from shared.documents import Json

TOLD_AFTER: Final = 3  # turns that failed one after the other: a single one says little
_NAME: Final = "scheduling_fails"
_LONGEST: Final = 300


def record(tx: Transaction, fault: str) -> None:
    """The scheduler has failed `TOLD_AFTER` times running, last with this fault."""
    settings.put(tx, _NAME, {"since": rfc3339(tx.now), "fault": fault[:_LONGEST]})


def clear(tx: Transaction) -> None:
    """A turn has succeeded."""
    if show(tx):
        settings.remove(tx, _NAME)


def show(tx: Transaction) -> Json:
    """{"since", "fault"} while turns fail; empty else."""
    return settings.get(tx, _NAME) or {}

"""Secrets of the store are brought under the key that is written with now, a few hundred rows at a time."""

from hub.store import sealing
from hub.store.sealing import START, Place, Resealed
from hub.store.transaction import Transaction

__all__ = ["START", "Place", "finish", "is_due", "take_step"]

ROWS = 500  # in one transaction: bounds how long writers wait


def is_due(tx: Transaction) -> bool:
    """True if any value may be under another key, or in clear where it should be encrypted."""
    return sealing.is_due(tx)


def take_step(tx: Transaction, place: Place, term: int) -> Resealed:
    """The next rows, under leadership `term`."""
    tx.require_term(term)
    return sealing.reseal(tx, place, ROWS)


def finish(tx: Transaction, term: int) -> None:
    """All rows have been checked: other keys are no longer needed."""
    tx.require_term(term)
    sealing.finish(tx)

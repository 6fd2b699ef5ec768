"""Bringing the conditions of queues, and of what they depend on, up to date."""

from hub.services.queues import conditions as queue_conditions, multikueue
from hub.store.transaction import Transaction


def concerns_queues(kind: str) -> bool:
    """True if objects of this kind decide the conditions of queues."""
    return kind in queue_conditions.QUEUE_KINDS


def refresh_queues(tx: Transaction) -> None:
    """Bring the conditions of queues, and of what they depend on, up to date."""
    multikueue.refresh(tx)
    queue_conditions.refresh(tx)

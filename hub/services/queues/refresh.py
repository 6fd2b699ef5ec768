"""Bringing the conditions of queues, and of what they depend on, up to date."""

from hub.services.queues import conditions as queue_conditions, multikueue
from hub.store.unit import Unit


def concerns_queues(kind: str) -> bool:
    """Whether objects of this kind decide what queues say of themselves."""
    return kind in queue_conditions.QUEUE_KINDS


def refresh_queues(unit: Unit) -> None:
    """Bring the conditions of queues, and of what they depend on, up to date."""
    multikueue.refresh(unit)
    queue_conditions.refresh(unit)

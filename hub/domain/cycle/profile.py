"""The settings a cycle reasons with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hub.domain.admission.nomination import Rules
from hub.domain.placement.framework import Filter
from hub.domain.placement.registry import FILTERS


def forever(placed: int) -> bool:
    """No limit."""
    return True


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of a cycle. `may_go_on` is called periodically with the number of placements made."""

    filters: Sequence[Filter] = field(default=FILTERS)
    may_go_on: Callable[[int], bool] = forever
    max_placements: int = 1 << 30
    one_round: bool = False  # Kueue's cycle; the live cycle repeats rounds
    rules: Rules = field(default_factory=Rules)

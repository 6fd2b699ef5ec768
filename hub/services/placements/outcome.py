"""How a placement stands after it was reconciled: what its status is made of."""

from dataclasses import dataclass, field
from typing import Final

from hub.domain.placement.pick import Decisions
from hub.domain.placement.status import Rung
from hub.services.placements.selecting import Selection
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.records.works import Work

_NEVER_ASKED: Final = Decisions((), None, fulfilled=True, message="")


@dataclass(slots=True)
class ReconcileOutcome:
    """What was found selected, what was decided, and what became of each Job."""

    row: StoredObject
    selection: Selection
    scheduled: Rung
    decisions: Decisions = _NEVER_ASKED
    jobs: list[Workload] = field(default_factory=list)  # those it chose or chooses a cluster for
    conflicts: dict[tuple[str, str], str] = field(default_factory=dict)  # (cluster, uid) → owner
    resource_index: int = 0
    abandoned: list[Work] = field(default_factory=list)  # told to be, and not yet

    @property
    def unfulfilled(self) -> bool:
        """Would another cluster, or another state of one, change the decision for the objects?"""
        return bool(self.selection.objects) and not self.decisions.fulfilled

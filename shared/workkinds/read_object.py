"""What was read of an object. Pure."""

import dataclasses
from dataclasses import dataclass
from typing import Final, Literal

from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.resources import PodSet
from shared.workkinds.language import StoppedEvaluation
from shared.workkinds.plugins.call import NotYet

Outcome = Literal["managed", "unmanaged", "refused", "waiting", "children", "per-pod", "companion"]
WORKLOAD_PRIORITY: Final = "WorkloadPriorityClass"
POD_PRIORITY: Final = "PriorityClass"


@dataclass(frozen=True, slots=True)
class ReadObject:
    """`workloads` of the pod sets each. `child`: how one child is read. `states`: () is unknown."""

    kind: str
    namespace: str
    name: str
    outcome: Outcome
    reason: str = ""
    code: RejectCode | None = None
    workloads: int = 0
    pod_sets: tuple[PodSet, ...] = ()
    priority_class: str = ""
    priority_kind: str = ""
    suspend_path: str = ""
    states: tuple[str, ...] = ()
    child: "ReadObject | None" = None

    def with_priority(self, name: str, kind: str) -> "ReadObject":
        return dataclasses.replace(self, priority_class=name, priority_kind=kind)

    def set_aside(self, why: Exception) -> "ReadObject":
        """Refused, stopped, or waiting for what is not there yet."""
        blank = ReadObject(self.kind, self.namespace, self.name, "refused")
        if isinstance(why, NotYet):
            return dataclasses.replace(blank, outcome="waiting", reason=str(why))
        if isinstance(why, Rejected):
            return dataclasses.replace(blank, reason=why.detail, code=why.code)
        assert isinstance(why, StoppedEvaluation)
        return dataclasses.replace(
            blank, reason=f"set aside: {why}", code=RejectCode.INVALID_VALUE
        )

"""Verdict on one entry of a report for its work: the row to write, move or remove."""

from dataclasses import dataclass, field
from typing import Final

from hub.domain.workloads.states import Transition
from hub.store.records.workloads import JobProgress, MoveColumns
from shared.documents import Json


@dataclass(frozen=True, slots=True)
class Judgement:
    """The consequences. `action`: Keep or Withdraw the row, or Remove it; `code` refuses the entry."""

    record: bool = True
    transition: Transition | None = None
    columns: MoveColumns = field(default_factory=MoveColumns)
    decided: MoveColumns = field(default_factory=MoveColumns)  # of a workload whose state stays
    counts: JobProgress | None = None  # … likewise
    all_ready: bool | None = None  # with them, where it has changed: are all its pods ready?
    admission: Json | None = None  # what it is charged for from now on
    action: str = ""
    code: str = ""
    detail: str = ""  # of the refusal; without a code: which failure is tried again
    cause: str = ""  # with such a detail: the member's code of that failure
    overlap: str = ""  # words for it, where an earlier epoch ran beside the present one


RECORD: Final = Judgement()

"""Jobs follow the value of the WorkloadPriorityClass that they name, as in Kueue since 0.16.

A controller compares when a class was created or edited; nothing on the job path asks. A job that runs is
not disturbed: its priority counts when another job looks for workloads to preempt.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from hub.domain.workloads.states import TERMINAL, State
from hub.store import jobs, objects, workloads
from hub.store.records.history import EventFacts
from hub.store.records.workloads import WorkloadChange
from hub.store.transaction import Transaction
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

WORKLOAD_CLASS: Final = (KUEUE, "WorkloadPriorityClass")
BATCH: Final = 200  # jobs of one transaction: others write in between
FOUND: Final = 20_000  # uids of one search, which looks at every job that may yet run
EVENT: Final = "PriorityChanged"
_ENDED: Final = TERMINAL - {State.DEACTIVATED}


def values(tx: Transaction, names: Sequence[str] | None = None) -> dict[str, int]:
    """The value of every WorkloadPriorityClass, or of these; one that can not be read is left out."""
    rows = objects.list_kind(tx, *WORKLOAD_CLASS, names=names)
    read = ((row.name, integer((row.spec or {}).get("value"))) for row in rows)
    return {name: value for name, value in read if value is not None}


def behind(tx: Transaction, classes: Mapping[str, int]) -> dict[str, list[str]]:
    """Jobs of these classes that have another priority: uids by class, at most `FOUND` of each."""
    found = {
        name: jobs.of_other_priority(tx, name, value, FOUND) for name, value in classes.items()
    }
    return {name: uids for name, uids in found.items() if uids}


def carry_out(tx: Transaction, name: str, uids: Sequence[str], term: int) -> None:
    """Give jobs the value that their class has now, where they still name it. Raises StaleTerm."""
    tx.require_term(term)
    value = values(tx, [name]).get(name)
    if value is None:
        return
    changed: list[WorkloadChange] = []
    for uid, row in workloads.get_many(tx, uids).items():
        if row.state in _ENDED or row.priority_class != name or row.priority == value:
            continue
        changed.append({"uid": uid, "priority": value})
        said = f"{row.priority} → {value}: WorkloadPriorityClass {name} was changed"
        tx.say(row, EVENT, said, facts=EventFacts(subject=name))
    workloads.change(tx, changed)


def integer(value: object) -> int | None:
    """The value of a class; None: an earlier release stored one that can not be read."""
    if value is None:
        return 0
    return value if isinstance(value, int) and not isinstance(value, bool) else None

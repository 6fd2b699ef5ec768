"""Bare Workloads: Kueue's Workload without owner, a unit of admission that an external executor runs.

It waits, is charged and may be preempted like a Job, but asks for quota alone: no cluster, no work. The
executor sees it admitted, runs it, and says through its status when it is done (`bare_status`). Quota is
free at once on a withdrawal, as in Kueue: no member could confirm anything.
"""

from collections.abc import Sequence
from typing import Final

from hub.domain.workloads.states import State
from hub.services.reading.draft import Draft
from hub.store import workloads
from hub.store.records.workloads import BareColumns, Workload

KIND: Final = workloads.BARE
INACTIVE: Final = "Deactivated"  # reason of one whose spec says active: false
INACTIVE_MESSAGE: Final = "spec.active is false"


def spec_columns(given: Draft) -> BareColumns:
    """The columns that follow from a Workload's spec."""
    spec = given.parsed.spec
    return {
        "parallelism": sum(each.count for each in given.parsed.pod_sets),
        "completions": None,
        "ttl_s": None,
        "priority": int(spec.get("priority") or 0),
        "priority_class": str((spec.get("priorityClassRef") or {}).get("name") or ""),
        "max_runtime_s": spec.get("maximumExecutionTimeSeconds"),
    }


def first_row(given: Draft, row: Workload) -> Workload:
    """The row of a new Workload, from a Job's: held where it must not be admitted yet."""
    row = row._replace(kind=KIND, **spec_columns(given))
    if is_active(given):
        return row
    return row._replace(state=State.HELD, reason=INACTIVE, message=INACTIVE_MESSAGE)


def is_active(given: Draft) -> bool:
    """Does its spec let it be admitted?"""
    return given.parsed.spec.get("active") is not False


def kind_of(given: Draft) -> str:
    """The kind of row a draft becomes: of work that members run, whatever its kind, `workloads.RUN`."""
    return workloads.RUN if given.is_job else KIND


def kinds_of(drafts: Sequence[Draft]) -> set[str]:
    """The kinds of rows that drafts become."""
    return {kind_of(given) for given in drafts}

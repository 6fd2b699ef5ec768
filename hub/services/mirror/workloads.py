"""The bridge's queries and commands for Workload objects: the shown facts, and others' changes.

An outside controller answers a check by writing the status of the object, a person holds or releases
a job by `spec.active`: both end in the services that REST calls.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hub.services.jobs import hold
from hub.services.outside import check_active, check_states, executors
from hub.store import manifests, objects, workloads
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView

OUTSIDE = "hub-cluster"  # under whose name it is written down


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """A row and its pod sets."""

    row: Workload
    pod_sets: Sequence[Json] | None


@dataclass(frozen=True, slots=True)
class Heard:
    """A user's edit of one Workload object. None: nothing of the kind."""

    uid: str
    checks: Sequence[JsonView] = ()
    active: bool | None = None
    status: JsonView | None = None  # of a bare one: Finished, reclaimable pods


def workload_facts(tx: Transaction, uids: Iterable[str]) -> dict[str, WorkloadFacts]:
    """What Workload objects are made of, by uid of the Job or bare Workload."""
    rows = workloads.get_many(tx, uids)
    shapes = manifests.get_shapes(tx, {row.shape for row in rows.values()})
    return {uid: WorkloadFacts(row, shapes.get(row.shape)) for uid, row in rows.items()}


def hear(tx: Transaction, term: int, heard: Heard) -> None:
    """Take in what was written. Raises Rejected where it can not be done, and StaleTerm."""
    tx.require_term(term)
    if heard.active is not None:
        follow = hold.release_job if heard.active else hold.hold_job
        follow(tx, heard.uid, OUTSIDE)
    if heard.checks:
        check_states.set_states(tx, heard.uid, heard.checks, OUTSIDE)
    if heard.status is not None:
        executors.report_status(tx, heard.uid, heard.status, OUTSIDE)


def hear_check(tx: Transaction, term: int, uid: str, conditions: Sequence[JsonView]) -> bool:
    """Take in the conditions that an AdmissionCheck's controller wrote; False if the hub has not taken
    that object. Raises Rejected, StaleTerm.
    """
    tx.require_term(term)
    row = objects.get(tx, uid)
    if row is not None:
        check_active.put_conditions(tx, row, check_active.read_conditions(list(conditions)))
    return row is not None

"""What the bridge asks and tells of Workload objects: the facts they show, and what others write there.

An outside controller answers a check by writing the status of the object, a person holds or releases
a job by `spec.active`: both end in the services that REST calls.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hub.services.jobs import hold
from hub.services.outside import check_active, check_states, executors
from hub.store import manifests, objects, workloads
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction

Row = dict[str, Any]
OUTSIDE = "hub-cluster"  # under whose name it is written down


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """A row and its pod sets."""

    row: Workload
    pod_sets: Sequence[Row] | None


@dataclass(frozen=True, slots=True)
class Heard:
    """What somebody wrote into one Workload object. None: nothing of the kind."""

    uid: str
    checks: Sequence[Mapping[str, Any]] = ()
    active: bool | None = None
    status: Mapping[str, Any] | None = None  # of a bare one: Finished, reclaimable pods


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


def hear_check(
    tx: Transaction, term: int, uid: str, conditions: Sequence[Mapping[str, Any]]
) -> bool:
    """Take in the conditions that an AdmissionCheck's controller wrote; False if the hub has not taken
    that object. Raises Rejected, StaleTerm.
    """
    tx.require_term(term)
    row = objects.get(tx, uid)
    if row is not None:
        check_active.put_conditions(tx, row, check_active.read_conditions(list(conditions)))
    return row is not None

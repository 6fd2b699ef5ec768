"""Reserving: quota is charged and a cluster tentatively chosen while admission checks are open.

Written in the transaction of the plan that decided it, beside its placements (`commit.commit_plan`).
`hub.services.index.reservations` decides the next step once the checks have answered.
"""

from collections.abc import Mapping, Sequence

from hub.domain.plan import Reason
from hub.domain.workloads import admission_checks
from hub.domain.workloads.states import Transition
from hub.services.index.check_catalog import Gate
from hub.store import checks as stored, workloads
from hub.store.records.workloads import WorkloadMove
from hub.store.transaction import Transaction

Required = Mapping[str, tuple[str, ...]]  # checks that workloads must pass, by uid


def reserve(
    tx: Transaction, rows: Sequence[WorkloadMove], required: Required, gate: Gate
) -> list[str]:
    """Reserve what a plan admits with open checks."""
    reserved: list[WorkloadMove] = []
    for row in with_states(tx, rows, required, gate):
        waiting = awaited(row["checks"] or {}, gate.known)
        where = f"cluster {row['cluster']} tentative; " if row["cluster"] else ""
        message = f"{where}waits for admission checks: {waiting}"
        reserved.append({**row, "reason": str(Reason.QUOTA_RESERVED), "message": message})
    return workloads.transition(tx, Transition.RESERVE, reserved) if reserved else []


def with_states(
    tx: Transaction, rows: Sequence[WorkloadMove], required: Required, gate: Gate
) -> list[WorkloadMove]:
    """The rows with states for their checks; how often one said Retry before is kept."""
    asked = [row["uid"] for row in rows if row["uid"] in required]
    if not asked:
        return list(rows)
    former = stored.states_of(tx, asked)
    at = tx.now.isoformat()
    return [
        {
            **row,
            "checks": admission_checks.opened(
                required[row["uid"]], gate.known, former.get(row["uid"]), at
            ),
        }
        if row["uid"] in required
        else row
        for row in rows
    ]


def awaited(states: admission_checks.States, known: Mapping[str, admission_checks.Check]) -> str:
    """Open checks with the controllers that must answer them, in words."""
    parts = []
    for name in admission_checks.still_open(states):
        controller = known[name].controller if name in known else ""
        parts.append(f"{name} ({controller})" if controller else name)
    return ", ".join(parts)

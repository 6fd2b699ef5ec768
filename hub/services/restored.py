"""What becomes of jobs when a store that went back is accepted: what may run unknown to it is held.

In the lost time a job that waits here may have been placed, may run in a member or have ended there,
even in a member that this store has never heard of: nothing that members say can rule that out. So it
starts again by a person's word only, in an epoch beyond all that were given. What a member was given
already goes on there, if it is there; it is never made again, and once it is gone it is held too.
The rule and its proof: docs/explain/exactly-once.md, rule 12.
"""

from collections.abc import Iterable
from typing import Final

from hub.domain.workload import State, beyond
from hub.services.withdraw import withdraw_jobs
from hub.store import doubts, workloads
from hub.store.unit import Unit

REASON: Final = "Restored"
MESSAGE: Final = (
    "the hub's store was restored from an older copy: in the time that is lost this job may have been "
    "started or have ended. Look for it in the members, then release it or cancel it"
)
HELD: Final = {"reason": REASON, "message": MESSAGE}
# In the options of a work: whether its job is still where it was given is not known.
DOUBTFUL: Final = "doubtful"

_AT_ONCE: Final = (State.PENDING, State.RESERVED, State.PLACED)
_MAY_START: Final = (*_AT_ONCE, State.HELD, State.DEACTIVATED)
_GIVEN: Final = (
    State.OFFERED,
    State.APPLIED,
    State.RUNNING,
    State.UNKNOWN,
    State.WITHDRAWING,
)


def hold_everything(unit: Unit) -> int:
    """Hold what waits, and mark what members were given; how many jobs are held."""
    jobs = doubts.jobs_in(unit, _MAY_START)
    withdraw_jobs(unit, [job["uid"] for job in jobs if job["state"] in _AT_ONCE], "Held", **HELD)
    held = [job["uid"] for job in jobs if job["state"] == State.HELD]
    workloads.change(unit, [{"uid": uid, **HELD} for uid in held])
    workloads.change(
        unit, [{"uid": job["uid"], "epoch": beyond(job["epoch"], unit.now)} for job in jobs]
    )
    given = doubts.given_in(unit, _GIVEN)
    doubts.mark(unit, [{**work, "options": {**work["options"], DOUBTFUL: True}} for work in given])
    return sum(job["state"] != State.DEACTIVATED for job in jobs)


def doubtful(unit: Unit, cluster: str, uids: Iterable[str]) -> set[str]:
    """Those of a cluster's works of which it is not known where their jobs are."""
    found = doubts.options_of(unit, cluster, uids)
    return {uid for uid, options in found.items() if options.get(DOUBTFUL)}

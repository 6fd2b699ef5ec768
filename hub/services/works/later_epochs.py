"""Later epochs of jobs that members have since before the store was restored: their jobs go on in them.

The rule and its proof: docs/explain/exactly-once.md, rule 12.
"""

import datetime as dt
from typing import Final

from hub.domain.workloads.states import ON_CLUSTER, State, beyond
from hub.services.works import accounted
from hub.store import workloads, works
from hub.store.records.history import EventFacts
from hub.store.records.workloads import WorkloadChange
from hub.store.records.works import StandingWork
from hub.store.transaction import Transaction
from shared.wire.agent_v1 import Observed

NEWER_EPOCH: Final = "NewerEpoch"  # an agent's: its Job is of a later epoch than the work
_TOLD: Final = frozenset(str(state) for state in ON_CLUSTER - {State.PLACED})


def later_epoch(entry: Observed, work: StandingWork, now: dt.datetime) -> int:
    """The epoch that a job goes on in after a restore, which its member has instead of the work's; 0: none.

    That epoch was given in the time that is lost, to this member, so the work's epoch had ended, and no later
    one was given while its Job is here (docs/explain/exactly-once.md, rule 12).
    """
    present = work.workload_epoch == work.epoch and work.state in _TOLD
    if entry.reason != NEWER_EPOCH or not entry.object_uid or not work.options.doubtful:
        return 0
    given = work.epoch < entry.found_epoch <= beyond(work.epoch, now)
    return entry.found_epoch if present and given and entry.epoch == work.epoch else 0


def at_epoch(entry: Observed, work: StandingWork, epoch: int) -> tuple[Observed, StandingWork]:
    """The same report and its work, once both are of that later epoch."""
    told = {"epoch": epoch, "reason": "", "message": "", "found_epoch": 0}
    row = work._replace(epoch=epoch, workload_epoch=epoch, observed_json=None, seen=True)
    return entry.model_copy(update=told), row


def go_on_in(tx: Transaction, cluster: str, work: StandingWork, epoch: int) -> None:
    """A job goes on in the later epoch of the lost time that its member has: as if it was adopted there."""
    text = (
        f"epoch {epoch} of this job is in {cluster}, given in the time that was lost: the job goes on in "
        f"that epoch, and no longer in {work.epoch}"
    )
    told: WorkloadChange = {"uid": work.uid, "epoch": epoch}
    if work.state != State.WITHDRAWING:
        told |= {"reason": NEWER_EPOCH, "message": text}
    workloads.change(tx, [told])
    works.follow_epoch(tx, cluster, work.uid, epoch)
    accounted.adopted(tx, work.uid, cluster)
    tx.event(
        uid=work.uid, kind=work.kind, namespace=work.namespace, name=work.name, type="Warning",
        reason=NEWER_EPOCH, message=text, facts=EventFacts(cluster, epoch, NEWER_EPOCH),
    )  # fmt: skip
